// All applications below the directory that the server was started with.

import { fill, h } from "../dom.js";
import { repeatedly } from "../repeated.js";
import { get } from "../server.js";
import { runState, state } from "../states.js";

export function overviewView({ options, address }) {
  const list = h("div", { class: "cards" });
  const none = h("p", { class: "quiet" }, "There is no blueprint and no application that has run here.");
  const draw = (applications) => fill(list, !applications.length ? none : applications.map((application) => h("section", { class: "card" },
    h("h2", {}, h("a", { href: address(application.id), "data-key": application.id }, application.id)),
    h("p", {}, runState(application)),
    h("p", { class: "row" }, Object.entries(application.states).map(([word, number]) => h("span", {}, `${number} `, state(word)))),
    h("p", { class: "quiet mono" }, application.place))));
  async function load() {
    try {
      draw((await get("/api/applications")).applications);
    } catch { /* the next look may succeed */ }
  }
  draw(options.applications);
  const polling = repeatedly(load, 3);
  return {
    node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Applications")), list),
    close: polling.close,
  };
}
