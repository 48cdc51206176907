// An application at a glance: its graph, its streamlets as a table, and what happened last.

import { actionButton } from "../actions.js";
import { spark } from "../charts.js";
import { announce, fill, h } from "../dom.js";
import { clock, count, counted, now, rate, short, span } from "../format.js";
import { Graph } from "../graph.js";
import { backlogOf, busyOf, rateOf, total } from "../live.js";
import { shown, state } from "../states.js";
import { eventList } from "./events.js";

const MOST = 5; // problems above the graph
const COLUMNS = [
  ["streamlet", (ref) => ref], ["state", (ref, each) => shown(each)], ["records/s", (ref, each) => rateOf(each), "number"],
  ["busy", (ref, each) => busyOf(each) ?? -1, "number"], ["backlog", (ref, each) => backlogOf(each) ?? -1, "number"],
  ["read", (ref, each) => total(each, "rows_in"), "number wide"],
  ["dead letters", (ref, each) => total(each, "dead_letters"), "number wide"],
  ["late", (ref, each) => total(each, "late"), "number wide"],
  ["restarts", (ref, each) => total(each, "restarts"), "number wide"],
];

export function applicationView({ live, options, address }) {
  const graph = new Graph(live, address, (group) => live.toggle(group));
  const groups = h("span", { class: "row" });
  const head = h("div", { class: "row" });
  const problem = h("div");
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Streamlets" });
  const last = h("div");
  let order = 0;
  let downwards = false;
  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search streamlets and topics",
    oninput: () => { announce(`${graph.search(search.value)} found`); drawTable(); } });
  const zoom = (label, action) => h("button", { onclick: action, "aria-label": label.name }, label.sign);

  function drawHead() {
    const { run } = live;
    const since = run.alive ? ["up for ", span(now() - run.started)] : run.ended ? ["ended ", clock(run.ended)] : [];
    fill(head, h("h1", {}, live.structure?.name ?? live.id), h("span", { class: "quiet" }, since),
      run.reason ? h("span", {}, run.reason) : null, h("span", { class: "space" }), actionButton({ live, options }, "stop"));
  }

  function drawProblem() {
    const { run } = live;
    const problems = run.health === "died" ? ["failed"] : ["failed", "stuck", "lost", "overdue"]; // of a dead run, all are lost
    const bad = Object.entries(live.streamlets).filter(([, each]) => problems.includes(each.health) || each.state === "backing-off");
    const lost = run.health === "died" ? "The run was killed or has crashed." : run.silent ? "The run has not written its status for 30 seconds." : "";
    fill(problem,
      lost ? h("div", { class: "card error", role: "alert" }, lost) : null,
      live.problem ? h("div", { class: "card error", role: "alert" }, live.problem) : null,
      bad.slice(0, MOST).map(([ref, each]) => h("div", { class: `card ${each.state === "backing-off" || each.health === "overdue" ? "notice" : "error"}` },
        h("strong", {}, h("a", { href: address(live.id, "streamlets", ref), "data-key": `problem ${ref}` }, ref)), " ", state(shown(each)), " ",
        h("span", { class: "quiet" }, `for ${span(now() - each.since)}`), h("pre", {}, each.cause || each.reason))),
      bad.length > MOST ? h("p", {}, `and ${counted(bad.length - MOST, "more streamlet", "more streamlets")}, which the table shows in the order of their state.`) : null);
  }

  function drawTable() {
    const [, key] = COLUMNS[order];
    const wanted = search.value.trim().toLowerCase();
    const rows = Object.entries(live.streamlets).filter(([ref]) => ref.toLowerCase().includes(wanted));
    if (!rows.length) return fill(table, h("p", { class: "quiet" }, wanted ? "No streamlet has this in its name." : "No streamlets yet."));
    if (order || downwards) rows.sort(([a, x], [b, y]) => (key(a, x) < key(b, y) ? -1 : 1) * (downwards ? -1 : 1));
    fill(table, h("table", {},
      h("thead", {}, h("tr", {}, COLUMNS.map(([label, , kind], index) => h("th", { class: kind ?? null, scope: "col",
        "aria-sort": order === index && (order || downwards) ? (downwards ? "descending" : "ascending") : null },
        h("button", { "data-key": `column ${label}`, onclick: () => sort(index) }, label))), h("th", { class: "wide", scope: "col" }, "last minutes"))),
      h("tbody", {}, rows.map(([ref, each]) => h("tr", {},
        h("td", {}, h("a", { href: address(live.id, "streamlets", ref), "data-key": `row ${ref}` }, ref)),
        h("td", {}, state(shown(each)), each.waiting ? h("div", { class: "quiet" }, each.waiting) : null),
        h("td", { class: "number" }, rate(rateOf(each))),
        h("td", { class: "number" }, busyOf(each) === null ? "–" : `${Math.round(busyOf(each) * 100)} %`),
        h("td", { class: "number" }, backlogOf(each) === null ? "–" : short(backlogOf(each))),
        COLUMNS.slice(5).map(([, value, kind]) => h("td", { class: kind }, count(value(ref, each)))),
        h("td", { class: "wide" }, spark(live.traces[ref] ?? [], (point) => point.rate, `rate of ${ref}`)))))));
  }

  function sort(index) {
    downwards = order === index ? !downwards : index > 1;
    order = index;
    drawTable();
  }

  function drawGroups() {
    const known = Object.entries(live.structure?.groups ?? {});
    fill(groups, known.length ? "Groups" : null, known.map(([group, refs]) => h("button", { "data-key": `group ${group}`,
      "aria-pressed": String(live.collapsed.has(group)), title: live.collapsed.has(group) ? "Show its streamlets" : "Show it as one box",
      onclick: () => live.toggle(group) }, `${group} (${refs.length})`)));
  }

  let fitted = false;
  function update(changed) {
    drawHead();
    drawProblem();
    drawGroups();
    graph.update(changed);
    if (!fitted && live.structure?.drawing.nodes.length && graph.node.clientWidth) {
      graph.fit();
      fitted = true;
    }
    drawTable();
    fill(last, eventList(live.events.slice(-12).reverse()), h("p", {}, h("a", { href: address(live.id, "events"), "data-key": "all events" }, "All events")));
  }

  const node = h("div", {}, head, problem,
    h("div", { class: "row" }, search,
      zoom({ name: "Zoom in", sign: "+" }, () => graph.setZoom(graph.zoom * 1.25)),
      zoom({ name: "Zoom out", sign: "−" }, () => graph.setZoom(graph.zoom / 1.25)),
      zoom({ name: "Fit the graph into the page", sign: "Fit" }, () => graph.fit()), groups),
    graph.node, h("p", {}), h("section", { class: "card" }, h("h2", {}, "Streamlets"), table),
    h("section", { class: "card" }, h("h2", {}, "What happened last"), last));
  if (live.structure) queueMicrotask(() => update(null));
  return { node, update };
}
