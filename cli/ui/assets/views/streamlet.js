// A streamlet: how it is and why, its queries, its ports and contracts, its settings with the places that set them.

import { actionButton } from "../actions.js";
import { batchBars, chart } from "../charts.js";
import { fill, h } from "../dom.js";
import { clock, count, now, rate, short, span } from "../format.js";
import { backlogOf, busyOf, isScalable, portRate, rateOf, sum, total } from "../live.js";
import { placeOf } from "../places.js";
import { repeatedly } from "../repeated.js";
import { api, get } from "../server.js";
import { shown, state } from "../states.js";
import { eventList } from "./events.js";
import { sourceView } from "./source.js";
import { streamletLog } from "./streamlet-log.js";
import { contractTree } from "./topic.js";

export function streamletView({ live, options, name: ref, address }) {
  const now_ = h("div");
  const charts = h("div", { class: "cards" });
  const range = h("select", { "aria-label": "Time", onchange: () => polling.now() }, h("option", { value: 3600 }, "the last hour"), h("option", { value: 86400 }, "the last day"));
  const described = h("div", {}, h("p", { class: "quiet" }, "Loading ..."));
  const happened = h("section", { class: "card" });
  const source = sourceView({ live, options, ref });
  const log = streamletLog({ live, ref, address });

  function update() {
    const each = live.streamlets[ref];
    if (!each) return fill(now_, h("div", { class: "card error" }, `There is no streamlet “${ref}” in the last run.`));
    const busy = busyOf(each);
    const own = each.units.filter((unit) => unit.query); // a spout has none
    fill(now_,
      h("div", { class: "row" }, h("h1", {}, ref), state(shown(each)), h("span", { class: "quiet" }, `for ${span(now() - each.since)}`),
        h("span", { class: "space" }), each.state === "paused" ? actionButton({ live, options }, "resume", ref) : actionButton({ live, options }, "pause", ref),
        actionButton({ live, options }, "restart", ref), isScalable(live, ref) ? actionButton({ live, options }, "scale", ref) : null),
      each.waiting ? h("div", { class: "card notice" }, each.waiting) : null,
      each.units.filter((unit) => unit.cause && unit.state !== "running").map((unit) => cause(unit)),
      each.units.filter((unit) => unit.running_batch?.stuck).map((unit) => h("div", { class: "card error" },
        h("strong", {}, `Batch ${unit.running_batch.number} has been running for ${span(unit.running_batch.seconds)}`),
        h("pre", {}, unit.running_batch.where.map((frame) => `at ${frame}`).join("\n")))),
      h("div", { class: "card numbers" },
        number(rate(rateOf(each)), "records"),
        busy === null ? null : number(percent(busy), "busy"),
        backlogOf(each) === null ? null : number(short(backlogOf(each)), "backlog, records"),
        own.length ? number(short(total(each, "rows_in")), "read since the start") : null,
        number(short(sum(each.units.flatMap((unit) => Object.values(unit.rows_out)))), "written since the start"),
        number(short(total(each, "dead_letters")), "dead letters"),
        number(short(total(each, "late")), "late"), number(count(total(each, "restarts")), "restarts")),
      own.length ? queries(own) : null, ports(each));
    const events = live.events.filter((event) => event.streamlet === ref);
    fill(happened, h("h2", {}, "What happened"), eventList(events.slice(-20).reverse()));
  }

  function cause(unit) {
    return h("div", { class: `card ${unit.state === "failed" ? "error" : "notice"}` },
      h("strong", {}, unit.query || ref, " ", state(unit.state)), unit.retry_at ? h("span", { class: "quiet" }, ` next start in ${span(unit.retry_at - now())}`) : null,
      h("pre", {}, [...unit.frames.map((frame) => `at ${frame}`), unit.cause].join("\n")));
  }

  function queries(units) {
    return h("section", { class: "card" }, h("h2", {}, "Queries"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Queries" }, h("table", {},
      h("thead", {}, h("tr", {}, ["query", "state", "batch", "last batch", "records/s", "busy", "rows in state", "watermark"].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, units.map((unit) => h("tr", {}, h("td", {}, unit.query), h("td", {}, state(unit.state)),
        h("td", {}, unit.running_batch ? `${unit.running_batch.number}, running for ${span(unit.running_batch.seconds)}` : unit.batch ?? "–"),
        h("td", {}, unit.batch_seconds ? span(unit.batch_seconds) : "–"), h("td", {}, rate(unit.rate)), h("td", {}, percent(unit.busy)), h("td", {}, count(unit.state_rows)),
        h("td", {}, unit.watermark ?? "–")))))),
    units.map((unit) => [units.length > 1 ? h("h3", {}, unit.query) : null, batchBars(live.batches[`${ref}.${unit.query}`] ?? [], span)]));
  }

  function ports(each) {
    const known = live.structure.streamlets[ref] ?? { inlets: {}, outlets: {} };
    const rows = [...Object.entries(known.inlets).map((entry) => ["←", ...entry]), ...Object.entries(known.outlets).map((entry) => ["→", ...entry])];
    if (!rows.length) return null;
    return h("section", { class: "card" }, h("h2", {}, "Ports"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ports" }, h("table", {},
      h("thead", {}, h("tr", {}, ["port", "topic", "records", "records/s", "backlog", "last"].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, rows.map(([arrow, port, topic]) => h("tr", {}, h("td", {}, port), h("td", {}, `${arrow} `, h("a", { href: address(live.id, "topics", topic), "data-key": `port ${port}` }, topic)),
        h("td", {}, short(sum(each.units.map((unit) => unit.ports[port]?.records ?? 0)))), h("td", {}, rate(portRate(each, port))),
        h("td", {}, arrow === "←" && backlogOf(each, port) !== null ? short(backlogOf(each, port)) : ""),
        h("td", {}, clock(Math.max(0, ...each.units.map((unit) => unit.ports[port]?.active ?? 0))))))))));
  }

  get(`${api(live.id, "streamlets", ref, "batches")}?most=60`).then((stored) => { live.remember(ref, stored); if (live.structure) update(); }, () => {});
  get(api(live.id, "streamlets", ref)).then((known) => fill(described, description(known)), (error) => fill(described, h("p", { class: "bad" }, error.message)));

  function description(known) {
    const settings = h("div", {}, h("button", { onclick: (event) => places(event.target, settings) }, "Show every setting with the place that set it"));
    return [h("section", { class: "card" }, h("h2", {}, "Configuration"), h("dl", { class: "facts" },
      fact("class", known.class), Object.entries(known.parameters).map(([key, value]) => fact(`parameter ${key}`, JSON.stringify(value))),
      Object.entries(known.settings).filter(([, value]) => value !== null).map(([key, value]) => fact(key, typeof value === "string" ? value : JSON.stringify(value)))), settings),
    h("section", { class: "card" }, h("h2", {}, "Contracts"), [...Object.entries(known.inlets), ...Object.entries(known.outlets)].map(([port, each]) =>
      h("details", {}, h("summary", {}, h("strong", {}, port), ` ${each.record}`), contractTree(each.schema))))];
  }

  async function places(button, box) {
    button.disabled = true;
    button.textContent = "Reading ...";
    try {
      const known = await get(api(live.id, "streamlets", ref, "settings"));
      fill(box, h("dl", { class: "facts" }, known.map((setting) => {
        const place = setting.sources[setting.sources.length - 1];
        const where = place.file ? placeOf(place, options) : h("span", { class: "quiet mono" }, place.note ?? "default");
        return [h("dt", {}, setting.key), h("dd", {}, setting.value, "  ", where)];
      })));
    } catch (error) {
      fill(box, h("p", { class: "bad" }, error.message));
    }
  }

  async function draw() {
    try {
      const points = await get(`${api(live.id, "streamlets", ref, "samples")}?seconds=${range.value}`);
      const drawn = CHARTS.map(([title, value, format]) => chart(title, points, value, format)).filter(Boolean);
      fill(charts, drawn.length ? drawn : h("p", { class: "quiet" }, "No records in this time."));
    } catch (error) {
      fill(charts, h("p", { class: "bad" }, error.message));
    }
  }

  const polling = repeatedly(draw, 10);
  if (live.structure) queueMicrotask(update);
  return { node: h("div", {}, now_, h("section", { class: "card" }, h("div", { class: "row" }, h("h2", {}, "Over time"), range), charts), source.node, described, happened, log.node),
    update, close: () => { polling.close(); source.close(); log.close(); } };
}

const CHARTS = [
  ["Records read per second", (point) => point.rate_in, rate], ["Records written per second", (point) => point.rate_out, rate],
  ["Backlog, records", (point) => point.backlog, short], ["Busy", (point) => point.busy, (share) => percent(share)],
  ["Duration of batches", (point) => point.batch_seconds, span], ["Rows in state", (point) => point.state_rows, short],
  ["Watermark behind", (point) => point.watermark_delay, span],
];
const percent = (share) => (typeof share === "number" ? `${Math.round(share * 100)} %` : "–");
const number = (value, label) => h("div", {}, h("b", {}, value), h("span", { class: "quiet" }, label));
const fact = (key, value) => [h("dt", {}, key), h("dd", { class: "mono" }, value)];
