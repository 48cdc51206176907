// Lines over time: a spark beside a name, and a chart with its largest value and its ends in words.

import { h } from "./dom.js";
import { clock } from "./format.js";

function line(points, value, width, height) {
  if (!points.length) return "";
  const [first, last] = [points[0].time, points[points.length - 1].time];
  const top = Math.max(1e-9, ...points.map(value));
  return points.map((point, index) => {
    const px = last > first ? ((point.time - first) / (last - first)) * width : width;
    const py = height - (value(point) / top) * (height - 2) - 1;
    return `${index ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`;
  }).join("");
}

export function spark(points, value, label) {
  return h("svg", { class: "spark", viewBox: "0 0 90 20", preserveAspectRatio: "none", role: "img", "aria-label": label },
    h("path", { d: line(points, value, 90, 20) }));
}

const TONES = { offsets: "#5f8fd0", planning: "#8a63d2", executing: "#2f7d4f", publishing: "#b7791f", committing: "#c2543f", other: "#7a869a" };

/** Return the last batches of a query as bars: their height is their duration, split into phases. */
export function batchBars(batches, span) {
  if (!batches.length) return null;
  const top = Math.max(1e-9, ...batches.map((batch) => batch.seconds));
  const phases = [...new Set(batches.flatMap((batch) => Object.keys(batch.phases)))];
  const bars = batches.map((batch, index) => {
    let from = 60;
    return h("g", {}, h("title", {}, `batch ${batch.number}${batch.time ? `, ${clock(batch.time)}` : ""}: ${span(batch.seconds)} (${Object.entries(batch.phases).map(([name, seconds]) => `${name} ${span(seconds)}`).join(", ")})`),
      Object.entries(batch.phases).map(([name, seconds]) => {
        const height = (seconds / top) * 58;
        from -= height;
        return h("rect", { x: index * 10, y: from, width: 8, height: Math.max(0.3, height), fill: TONES[name] ?? TONES.other });
      }));
  });
  const label = batches.length > 1 ? `the last ${batches.length} batches, at most ${span(top)}` : `the last batch, ${span(top)}`;
  return h("div", {}, h("svg", { class: "bars", viewBox: "0 0 600 60", preserveAspectRatio: "xMinYMax", role: "img", "aria-label": label }, bars),
    h("p", { class: "quiet row legend" }, label, phases.map((name) => {
      const square = h("span", { class: "square" });
      square.style.background = TONES[name] ?? TONES.other;
      return h("span", {}, square, name);
    })));
}

/** Return a chart with its title: points have `time` in seconds and what `value` takes of them. */
export function chart(title, all, value, format) {
  const points = all.filter((point) => value(point) !== null && value(point) !== undefined);
  if (!points.some(value)) return null;
  const top = Math.max(0, ...points.map(value));
  const last = points.length ? value(points[points.length - 1]) : 0;
  const drawn = line(points, value, 600, 120);
  const label = `${title}: ${format(last)} now, at most ${format(top)}`;
  return h("div", { class: "card" },
    h("h3", {}, title),
    h("p", { class: "quiet" }, `${format(last)} now, at most ${format(top)}`),
    points.length > 1
      ? h("svg", { class: "chart", viewBox: "0 0 600 120", preserveAspectRatio: "none", role: "img", "aria-label": label },
        h("line", { x1: 0, y1: 119.5, x2: 600, y2: 119.5 }),
        h("path", { class: "area", d: `${drawn}L600 120L0 120Z` }), h("path", { d: drawn }))
      : h("p", { class: "quiet" }, "No samples yet."),
    points.length > 1 ? h("p", { class: "quiet row" }, clock(points[0].time), h("span", { class: "space" }), clock(points[points.length - 1].time)) : null);
}
