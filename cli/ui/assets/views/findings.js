// The findings of `flow verify` on the code as it is now.

import { fill, h } from "../dom.js";
import { api, get } from "../server.js";

export function findingsView({ live }) {
  const box = h("div", { "aria-live": "polite" });
  async function load() {
    fill(box, h("p", { class: "quiet" }, "Verifying ..."));
    try {
      const found = await get(api(live.id, "findings"));
      fill(box, h("p", {}, h("strong", { class: found.valid ? "good" : "bad" }, found.valid ? "The application may run." : "The application may not run.")),
        h("pre", { class: "card", tabindex: "0" }, found.text));
    } catch (error) {
      fill(box, h("pre", { class: "bad" }, error.message));
    }
  }
  load();
  return { node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Findings"), h("button", { onclick: load }, "Verify again")),
    h("p", { class: "quiet" }, "What ", h("code", {}, "flow verify"), " finds in the project as it is on disk now."), box) };
}
