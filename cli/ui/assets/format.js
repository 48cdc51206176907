// Numbers with units, times in the reader's zone, and durations in words.

import { h } from "./dom.js";

const WHOLE = new Intl.NumberFormat("en-US");
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export const count = (number) => (number === null || number === undefined ? "–" : WHOLE.format(number));
export const short = (number) => (Math.abs(number) < 10000 ? WHOLE.format(Math.round(number)) : SHORT.format(number));

/** Return a number with its noun; the plural has an s unless it is given. */
export const counted = (number, noun, plural = `${noun}s`) => `${count(number)} ${number === 1 ? noun : plural}`;

export function rate(number) {
  if (!number) return "0/s";
  return `${number < 10 ? number.toFixed(1) : short(number)}/s`;
}

export function bytes(number) {
  if (number === null || number === undefined) return "–";
  let rest = number;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (rest < 1024) return `${unit === "B" ? rest : rest.toFixed(1)} ${unit}`;
    rest /= 1024;
  }
  return `${rest.toFixed(1)} TiB`;
}

export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return counted(Math.round(s / 86400), "day");
}

export const now = () => Date.now() / 1000;

/** Return an element with a time of day in the reader's zone; the whole time in UTC is its title. */
export function clock(seconds) {
  if (!seconds) return h("span", {}, "–");
  const date = new Date(seconds * 1000);
  const today = date.toDateString() === new Date().toDateString();
  const text = today ? date.toLocaleTimeString() : date.toLocaleString();
  return h("time", { datetime: date.toISOString(), title: `${date.toISOString().replace("T", " ").slice(0, 19)} UTC` }, text);
}
