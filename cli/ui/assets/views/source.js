// What brings data in: the transactions of a spout, or the tasks of a batch source.

import { confirmed } from "../actions.js";
import { fill, h } from "../dom.js";
import { clock, count } from "../format.js";
import { repeatedly } from "../repeated.js";
import { api, get, post } from "../server.js";

/** Return a section about a streamlet that is a spout or a batch source; it stays empty for others. */
export function sourceView({ live, options, ref }) {
  const section = h("div");

  async function draw() {
    let known;
    try {
      known = await get(api(live.id, "streamlets", ref, "source"));
    } catch {
      return; // it is shown again later; the rest of the page says what is wrong
    }
    if (known.spout) fill(section, spout(known.spout));
    else if (known.tasks) fill(section, await tasks(known.tasks));
  }

  const numbers = (facts) => h("div", { class: "numbers" }, facts.map(([value, label]) => h("div", {}, h("b", {}, value), h("span", { class: "quiet" }, label))));

  function spout(each) {
    return h("section", { class: "card" }, h("h2", {}, "Transactions"), numbers([
      [count(each.transactions), "delivered"], [count(each.records), "records"], [count(each.dead_letters), "dead letters"],
      [count(each.staged_transactions), "being delivered"], [each.last_commit ? clock(each.last_commit) : "–", "last one"]]));
  }

  async function tasks(counts) {
    const head = [h("h2", {}, "Tasks"), numbers([
      [count(counts.discovered), "discovered"], [count(counts.read), "read"], [count(counts.waiting), "waiting"], [count(counts.failed), "failed"],
      [count(counts.discoveries), "discoveries"]]), counts.failure ? h("pre", { class: "bad" }, counts.failure) : null];
    if (!options.records || !(counts.waiting || counts.failed)) return h("section", { class: "card" }, head);
    const entries = await get(api(live.id, "streamlets", ref, "tasks"));
    return h("section", { class: "card" }, head, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tasks" }, h("table", {},
      h("thead", {}, h("tr", {}, ["task", "state", "discovered", "content", ""].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, entries.map((entry) => h("tr", {}, h("td", {}, String(entry.number)), h("td", {}, entry.state), h("td", {}, clock(entry.discovered)),
        h("td", {}, h("code", {}, JSON.stringify(entry.task)), entry.failure ? h("pre", { class: "bad" }, entry.failure.reason) : null),
        h("td", {}, entry.state === "failed" ? retryButton(entry) : null)))))));
  }

  function retryButton(entry) {
    return h("button", { "data-key": `retry ${entry.number}`, disabled: options.read_only, onclick: () => confirmed({
      title: `Retry task ${entry.number}`, body: [h("p", {}, `“${ref}” reads it again as a new task, when the application runs.`),
        h("p", { class: "quiet" }, "The same as ", h("code", {}, `flow tasks retry ${ref} --task ${entry.number}`), ".")],
      button: "Retry", run: () => post(api(live.id, "actions"), { action: "retry", streamlet: ref, task: entry.number }),
      done: "Retry: accepted", then: polling.now }) }, "Retry");
  }

  const polling = repeatedly(draw, 10);
  return { node: section, close: polling.close };
}
