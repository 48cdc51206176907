// The topics of an application: what they hold, and where they are.

import { fill, h } from "../dom.js";
import { bytes, clock, count } from "../format.js";
import { repeatedly } from "../repeated.js";
import { api, get } from "../server.js";

export function topicsView({ live, address }) {
  const box = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Topics" }, h("p", { class: "quiet" }, "Loading ..."));
  async function load() {
    try {
      const topics = await get(api(live.id, "topics"));
      fill(box, topics.length ? h("table", {}, h("thead", {}, h("tr", {}, ["topic", "channel", "records", "size", "last commit", "writers"].map((label, index) =>
        h("th", { scope: "col", class: index === 2 || index === 3 ? "number" : null }, label)))),
      h("tbody", {}, topics.map((topic) => h("tr", {}, h("td", {}, h("a", { href: address(live.id, "topics", topic.id), "data-key": topic.id }, topic.id), topic.dead_letters ? " (dead letters)" : ""),
        h("td", {}, topic.channel), topic.error ? h("td", { colspan: 4, class: "bad" }, topic.error) : [h("td", { class: "number" }, count(topic.records)),
          h("td", { class: "number" }, bytes(topic.bytes)), h("td", {}, clock(topic.last_commit)), h("td", {}, topic.writers.map((writer) => writer.record).join(", "))])))) : h("p", { class: "quiet" }, "No topics yet."));
    } catch (error) {
      fill(box, h("p", { class: "bad" }, error.message));
    }
  }
  const polling = repeatedly(load, 5);
  return { node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Topics")), h("section", { class: "card" }, box)), close: polling.close };
}
