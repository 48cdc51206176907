// A state is a colour, a shape and a word: no one of them is needed to tell it.

import { h } from "./dom.js";

const CIRCLE = "M6 0a6 6 0 1 1 0 12a6 6 0 0 1 0-12z";
const STATES = {
  running: ["good", CIRCLE],
  completed: ["good", "M1 6.5l1.6-1.6L5 7.3l4.6-5L11.2 4 5 10.6z"],
  starting: ["busy", "M6 0a6 6 0 1 1 0 12a6 6 0 0 1 0-12zm0 2v8a4 4 0 0 0 0-8z"],
  draining: ["busy", "M6 0a6 6 0 1 1 0 12a6 6 0 0 1 0-12zm0 2a4 4 0 0 0 0 8z"],
  "backing-off": ["busy", "M6 0l6 11H0z"],
  paused: ["rest", "M1 0h3.6v12H1zm6.4 0H11v12H7.4z"],
  stopped: ["rest", "M1 1h10v10H1z"],
  failed: ["bad", "M2 0l4 4 4-4 2 2-4 4 4 4-2 2-4-4-4 4-2-2 4-4-4-4z"],
  stuck: ["bad", "M6 0l6 6-6 6-6-6z"],
  lost: ["bad", "M5 0h2v8H5zm0 10h2v2H5z"],
  overdue: ["busy", "M0 1h12L6 12z"],
};

/** Return what a streamlet shows: its health if it is not well, or else its state. */
export function shown(streamlet) {
  return ["stuck", "overdue", "lost", "failed"].includes(streamlet.health) ? streamlet.health : streamlet.state;
}

export const tone = (state) => (STATES[state] ?? ["rest"])[0];
export const shape = (state) => (STATES[state] ?? ["rest", CIRCLE])[1];

function badge(word, text) {
  return h("span", { class: `state ${tone(word)}` },
    h("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, h("path", { d: shape(word) })), text);
}

/** Return a state as an element: its shape and its word. */
export const state = (word) => badge(word, word);

const RUNS = { running: "running", degraded: "failed", draining: "draining", stopping: "draining", ended: "stopped",
  starting: "starting", "backing-off": "backing-off", paused: "paused", died: "lost", unknown: "lost", "never ran": "stopped" };

/** Return the state of a run as an element. */
export function runState(run) {
  return run.silent ? badge("lost", "no status") : badge(RUNS[run.health] ?? "stopped", run.health);
}
