// The events of the last runs, with filters.

import { fill, h } from "../dom.js";
import { clock, counted } from "../format.js";
import { api, get } from "../server.js";

/** Return events as a list: the time, then the lines. */
export function eventList(events) {
  if (!events.length) return h("p", { class: "quiet" }, "Nothing has happened yet.");
  return h("ul", { class: "events" }, events.map((event) => h("li", { class: event.level === "error" ? "error-line" : event.level },
    clock(event.time), h("div", {}, h("div", { class: "head" }, event.lines[0] ?? event.kind),
      event.lines.length > 1 ? h("pre", {}, event.lines.slice(1).join("\n")) : null))));
}

export function eventsView({ live }) {
  const list = h("div");
  const choice = { level: h("select", { "aria-label": "Level", onchange: () => draw() },
    [["", "all levels"], ["warning", "warnings and errors"], ["error", "errors"]].map(([value, label]) => h("option", { value }, label))),
    text: h("input", { type: "search", placeholder: "Search", "aria-label": "Search events", oninput: () => draw() }) };
  let older = [];
  get(api(live.id, "events") + "?most=2000").then((events) => { older = events; draw(); }, (error) => fill(list, h("p", { class: "bad" }, error.message)));

  function draw() {
    const known = new Set(older.map((event) => `${event.run}-${event.sequence}`));
    const all = [...older, ...live.events.filter((event) => !known.has(`${event.run}-${event.sequence}`))];
    const wanted = choice.text.value.trim().toLowerCase();
    const levels = { "": ["info", "warning", "error"], warning: ["warning", "error"], error: ["error"] }[choice.level.value];
    const fitting = all.filter((event) => levels.includes(event.level) && event.lines.join("\n").toLowerCase().includes(wanted));
    fill(list, h("p", { class: "quiet" }, `${fitting.length} of ${counted(all.length, "event")}, newest first`), eventList(fitting.slice(-500).reverse()));
  }
  return { node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Events"), choice.level, choice.text), h("section", { class: "card" }, list)), update: draw };
}
