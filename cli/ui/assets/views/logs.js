// The logs of the run: the end of each file.

import { fill, h } from "../dom.js";
import { bytes } from "../format.js";
import { api, get } from "../server.js";

export function logsView({ live }) {
  const choice = h("select", { "aria-label": "File", onchange: () => load() });
  const box = h("pre", { class: "card", tabindex: "0" });
  async function load() {
    try {
      const log = await get(`${api(live.id, "logs")}/${choice.value.split("/").map(encodeURIComponent).join("/")}`);
      box.textContent = log.text || "The file is empty.";
      box.scrollTop = box.scrollHeight;
    } catch (error) {
      box.textContent = error.message;
    }
  }
  get(api(live.id, "logs")).then((logs) => {
    fill(choice, logs.map((log) => h("option", { value: log.name, selected: log.name === "run.log" }, `${log.name} (${bytes(log.bytes)})`)));
    if (logs.length) load();
    else box.textContent = "There are no logs yet.";
  }, (error) => { box.textContent = error.message; });
  return { node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Logs"), choice, h("button", { onclick: () => load() }, "Read again")), box) };
}
