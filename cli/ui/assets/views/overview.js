// All applications below the directory that the server was started with.

import { fill, h } from "../dom.js";
import { get } from "../server.js";
import { runState, state } from "../states.js";

export function overviewView({ options, address }) {
  const list = h("div", { class: "cards" });
  const draw = (applications) => fill(list, applications.map((application) => h("section", { class: "card" },
    h("h2", {}, h("a", { href: address(application.id), "data-key": application.id }, application.id)),
    h("p", {}, runState(application)),
    h("p", { class: "row" }, Object.entries(application.states).map(([word, number]) => h("span", {}, `${number} `, state(word)))),
    h("p", { class: "quiet mono" }, application.place))));
  draw(options.applications);
  const timer = setInterval(async () => {
    try {
      draw((await get("/api/applications")).applications);
    } catch { /* the next look may succeed */ }
  }, 3000);
  const none = h("p", { class: "quiet" }, "No application has run here yet: start one with ", h("code", {}, "flow run"), ".");
  return {
    node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Applications")), options.applications.length ? list : none),
    close: () => clearInterval(timer),
  };
}
