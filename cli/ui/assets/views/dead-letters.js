// Records that broke a contract: by reason, with samples, and replayed.

import { confirmed } from "../actions.js";
import { fill, h } from "../dom.js";
import { clock, count } from "../format.js";
import { api, get, post } from "../server.js";

export function deadLettersView({ live, options }) {
  const counts = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Dead letters by reason" });
  const samples = h("div");
  let chosen = { port: "", reason: "" };

  async function load() {
    if (!options.records) return fill(counts, h("p", { class: "quiet" }, "This server shows no records."));
    try {
      const query = new URLSearchParams({ ...chosen, count: 20 });
      draw(await get(`${api(live.id, "dead-letters")}?${query}`));
    } catch (error) {
      fill(counts, h("p", { class: "bad" }, error.message));
    }
  }

  function draw(found) {
    fill(counts, found.counts.length ? h("table", {}, h("thead", {}, h("tr", {}, ["port", "reason", "waiting", "replayed", "last", ""].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, found.counts.map((each) => h("tr", { class: each.port === chosen.port && each.reason === chosen.reason ? "chosen" : null },
        h("td", {}, each.port), h("td", {}, h("button", { "data-key": `${each.port} ${each.reason}`, onclick: () => { chosen = { port: each.port, reason: each.reason }; load(); } }, each.reason)),
        h("td", { class: "number" }, count(each.waiting)), h("td", { class: "number" }, count(each.replayed)), h("td", {}, clock(each.last)),
        h("td", {}, each.waiting ? h("button", { disabled: options.read_only, "data-key": `replay ${each.port} ${each.reason}`, onclick: () => replay(each) }, "Replay") : null))))) : h("p", { class: "quiet" }, "No dead letters."));
    fill(samples, found.letters.map((letter) => h("div", { class: "record" }, h("div", {}, clock(letter.time), ` ${letter.port}, ${letter.origin}${letter.replayed ? ", replayed" : ""}`),
      h("div", { class: "bad" }, letter.reason), h("pre", {}, JSON.stringify(letter.record)))));
  }

  async function replay(each) {
    const wanted = { action: "replay", port: each.port, reason: each.reason };
    let preview;
    try {
      preview = (await post(api(live.id, "actions"), { ...wanted, dry_run: true })).replay;
    } catch (error) {
      return fill(samples, h("p", { class: "bad", role: "alert" }, error.message));
    }
    confirmed({
      title: `Replay dead letters of ${each.port}`,
      body: [h("p", {}, `${count(Object.values(preview.replayed).reduce((sum, number) => sum + number, 0))} records conform now and are written to the topic, each once.`),
        preview.broken.map((broken) => h("p", {}, `${broken.letters} still break the contract: ${broken.reason}`)),
        h("p", { class: "quiet" }, "The same as ", h("code", {}, `flow dead-letters replay ${each.port}`), ".")],
      button: "Replay",
      run: () => post(api(live.id, "actions"), wanted),
      done: "Replayed",
      then: load,
    });
  }

  load();
  const timer = setInterval(load, 5000);
  return {
    node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Dead letters")), h("section", { class: "card" }, counts), h("section", { class: "card" }, h("h2", {}, "Samples"), samples)),
    close: () => clearInterval(timer),
  };
}
