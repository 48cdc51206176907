// Records that broke a contract: by reason, with samples, and replayed.

import { confirmed, quoted, sameAs } from "../actions.js";
import { fill, h } from "../dom.js";
import { clock, count, counted } from "../format.js";
import { sum } from "../live.js";
import { repeatedly } from "../repeated.js";
import { api, get, post } from "../server.js";
import { contractTree } from "./topic.js";

export function deadLettersView({ live, options }) {
  const counts = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Dead letters by reason" });
  const samples = h("div");
  const contract = h("div");
  const described = {};
  let chosen = { port: "", reason: "" };

  async function load() {
    if (!options.records) return fill(counts, h("p", { class: "quiet" }, "This server shows no records."));
    try {
      const query = new URLSearchParams({ ...chosen, count: 20 });
      const found = await get(`${api(live.id, "dead-letters")}?${query}`);
      draw(found);
      await drawContract(found);
    } catch (error) {
      fill(counts, h("p", { class: "bad" }, error.message));
    }
  }

  function draw(found) {
    fill(counts, found.counts.length ? h("table", {}, h("thead", {}, h("tr", {}, ["port", "reason", "waiting", "replayed", "last", ""].map((label, index) => h("th", { scope: "col", class: index === 2 || index === 3 ? "number" : null }, label)))),
      h("tbody", {}, found.counts.map((each) => h("tr", { class: each.port === chosen.port && each.reason === chosen.reason ? "chosen" : null },
        h("td", {}, each.port), h("td", {}, h("button", { "data-key": `${each.port} ${each.reason}`, onclick: () => { chosen = { port: each.port, reason: each.reason }; polling.now(); } }, each.reason)),
        h("td", { class: "number" }, count(each.waiting)), h("td", { class: "number" }, count(each.replayed)), h("td", {}, clock(each.last)),
        h("td", {}, each.waiting ? h("button", { disabled: options.read_only, title: options.read_only ? "This page is read-only" : null, "data-key": `replay ${each.port} ${each.reason}`, onclick: () => replay(each) }, "Replay ...") : null))))) : h("p", { class: "quiet" }, "No dead letters."));
    fill(samples, found.letters.map((letter) => h("div", { class: "record" }, h("div", {}, clock(letter.time), ` ${letter.port}, ${letter.origin}${letter.replayed ? ", replayed" : ""}`),
      h("div", { class: "bad" }, letter.reason), h("pre", {}, JSON.stringify(letter.record)))));
  }

  /** Show the contract beside the samples if all of them are of one port. */
  async function drawContract({ counts: known, letters }) {
    const [port, ...others] = new Set(letters.map((letter) => letter.port));
    const ref = known.find((each) => each.port === port)?.streamlet;
    if (!ref || others.length) return fill(contract, port ? h("p", { class: "quiet" }, "Choose a reason to see the contract beside its records.") : null);
    described[ref] ??= await get(api(live.id, "streamlets", ref)).catch(() => null);
    const name = port.slice(ref.length + 1);
    const own = described[ref]?.inlets[name] ?? described[ref]?.outlets[name];
    fill(contract, own ? [h("h3", {}, `The contract of ${port}`), contractTree(own.schema)] : null);
  }

  function replay({ port, reason }) {
    const wanted = { action: "replay", port, reason };
    const ask = (more) => post(api(live.id, "actions"), { ...wanted, ...more }).then((answer) => answer.replay);
    confirmed({
      title: `Replay dead letters of ${port}`,
      waiting: "Comparing the records with the contract as it is in the project now ...",
      prepare: async () => question(await ask({ dry_run: true }), wanted),
      run: () => ask(),
      done: "Replayed",
      then: polling.now,
    });
  }

  const polling = repeatedly(load, 5);
  return {
    node: h("div", {}, h("div", { class: "row" }, h("h1", {}, "Dead letters")), h("section", { class: "card" }, counts), h("section", { class: "card" }, h("h2", {}, "Samples"), h("div", { class: "beside" }, samples, contract))),
    close: polling.close,
  };
}

/** Return what a replay would do; a button only if it would do something. */
function question(preview, { port, reason }) {
  const conforming = sum(Object.values(preview.replayed));
  const homeless = sum(Object.values(preview.without_outlet));
  const broken = preview.broken.map((each) => h("p", {}, `${counted(each.letters, "record still breaks", "records still break")} the contract: ${each.reason}`));
  const lost = homeless ? h("p", {}, `${counted(homeless, "record has", "records have")} no port any more.`) : null;
  if (!conforming) return { body: [h("p", {}, "No record conforms now, so there is nothing to replay."), broken, lost] };
  return {
    body: [h("p", {}, `${counted(conforming, "record conforms now and is", "records conform now and are")} written to the topic, each once.`), broken, lost,
      sameAs(`flow dead-letters replay ${quoted(port)} --reason ${quoted(reason)}`)],
    button: "Replay",
  };
}
