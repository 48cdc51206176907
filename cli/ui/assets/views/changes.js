// What the version that ran last has changed, and what happened to versions and checkpoints.

import { fill, h } from "../dom.js";
import { clock } from "../format.js";
import { api, get } from "../server.js";
import { eventList } from "./events.js";

const TONES = { safe: "good", "new-records": "good", "state-loss": "bad", breaking: "bad" };
const KINDS = ["run-started", "run-ended", "streamlet-scaled", "checkpoint-repaired", "topic-differs", "resource-settled"];

export function changesView({ live }) {
  const box = h("section", { class: "card" }, h("p", { class: "quiet" }, "Loading ..."));
  const history = h("section", { class: "card" });
  get(api(live.id, "changes")).then(draw, (error) => fill(box, h("h2", {}, "Against the version before"), h("p", { class: "bad" }, error.message)));
  get(api(live.id, "events") + "?most=2000").then((events) => fill(history, h("h2", {}, "Runs, repairs and resources"),
    eventList(events.filter((event) => KINDS.includes(event.kind)).slice(-100).reverse())), () => {});

  function draw(found) {
    const head = h("h2", {}, "Against the version before");
    if (!found.changes) return fill(box, head, h("p", { class: "quiet" }, "Only one version has run here."));
    fill(box, head, h("p", { class: "quiet" }, "This version has run since ", clock(found.since), ". Both are compared as by ", h("code", {}, `flow verify --against ${found.before}`), "."),
      found.changes.length ? found.changes.map(change) : h("p", {}, "No difference: the one before is back."));
  }

  const change = (each) => h("div", { class: `card ${TONES[each.class] === "bad" ? "error" : TONES[each.class] ? "" : "notice"}` },
    h("strong", {}, marked(each.headline)), h("p", { class: TONES[each.class] ?? "busy" }, each.needs, each.queries.length ? `: ${each.queries.join(", ")}` : ""),
    each.causes.length ? h("ul", {}, each.causes.map((cause) => h("li", {}, marked(cause)))) : null);

  return { node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Changes")), box, history) };
}

/** Return a text whose parts in back-quotes are code. */
const marked = (text) => text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
