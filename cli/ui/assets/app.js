// Addresses and what they show. A view is an object with `node`, and may have `update(changed)` and `close()`.

import { announce, fill, h } from "./dom.js";
import { Live } from "./live.js";
import { get } from "./server.js";
import { runState } from "./states.js";
import { applicationView } from "./views/application.js";
import { changesView } from "./views/changes.js";
import { deadLettersView } from "./views/dead-letters.js";
import { eventsView } from "./views/events.js";
import { findingsView } from "./views/findings.js";
import { logsView } from "./views/logs.js";
import { overviewView } from "./views/overview.js";
import { streamletView } from "./views/streamlet.js";
import { topicView } from "./views/topic.js";
import { topicsView } from "./views/topics.js";

const TABS = [["", "Application"], ["topics", "Topics"], ["dead-letters", "Dead letters"], ["events", "Events"],
  ["changes", "Changes"],  ["findings", "Findings"], ["logs", "Logs"]];
const VIEWS = { "": applicationView, topics: topicsView, "dead-letters": deadLettersView, events: eventsView, changes: changesView,
  findings: findingsView, logs: logsView };
const VIEWS_OF_ONE = { streamlets: streamletView, topics: topicView };

const main = document.getElementById("main");
const page = { options: {}, live: null, view: null, deleted: "", over: false };

export const address = (...parts) => "/" + parts.map(encodeURIComponent).join("/");

function parts() {
  return location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
}

async function show() {
  const [id, section = "", name] = parts();
  page.view?.close?.();
  page.view = null;
  if (page.live && page.live.id !== id) {
    page.live.close();
    page.live = null;
    page.deleted = "";
  }
  try {
    page.options = await get("/api/applications");
  } catch (error) {
    refuse(error.message);
    return;
  }
  const known = page.options.applications;
  if (!id && known.length === 1) {
    go(address(known[0].id), true);
    return;
  }
  if (id && !known.some((application) => application.id === id)) {
    refuse(`There is no application “${id}” here.`);
    const { pathname } = location;
    setTimeout(() => location.pathname === pathname && !page.view && show(), 3000); // it may be starting
    return;
  }
  if (id && !page.live) page.live = new Live(id, (changed) => update(changed));
  const make = !id ? overviewView : name !== undefined ? VIEWS_OF_ONE[section] : VIEWS[section];
  if (!make) {
    refuse("There is no such page.");
    return;
  }
  page.view = make({ live: page.live, options: page.options, id, name, go, address });
  fill(main, page.view.node);
  header();
  const title = name ?? TABS.find(([tab]) => tab && tab === section)?.[1] ?? id ?? "Applications";
  document.title = `${title} · Streamlets`;
  announce(title);
}

function update(changed) {
  header();
  const deleted = page.live?.run.deleted ?? "";
  if (deleted !== page.deleted) {
    page.deleted = deleted;
    if (deleted) {
      page.view?.close?.();
      page.view = null;
      refuse(`${deleted} was deleted, with the topics and checkpoints in it. The application begins from scratch when it is started again.`);
    } else show();
  } else if (page.live?.structure) page.view?.update?.(changed);
}

function refuse(text) {
  header();
  fill(main, h("div", { class: "card error" }, h("h1", {}, "Not available"), h("p", {}, text),
    h("p", {}, h("a", { href: "/" }, "All applications"))));
}

function header() {
  const [id, section = ""] = parts();
  const { live } = page;
  const over = Boolean(live?.gone && page.options.reopen); // the server of a run ends with it
  if (over !== page.over) fill(document.getElementById("over"), over ? h("div", { class: "card notice" }, "The run has ended, and this page with it. To open it again: ",
    h("code", {}, page.options.reopen)) : null);
  page.over = over;
  const tabs = id && h("nav", { "aria-label": "Application" }, h("ul", {}, TABS.map(([tab, label]) => h("li", {},
    h("a", { href: address(id, ...(tab ? [tab] : [])), "data-key": `tab ${tab}`, "aria-current": section === tab ? "page" : null }, label)))));
  fill(document.getElementById("top"),
    h("a", { class: "brand", href: "/", "data-key": "brand" }, "Streamlets"),
    id && h("span", { class: "row" }, h("strong", {}, id), live?.run.health && !page.deleted ? runState(live.run) : null),
    tabs,
    h("span", { class: "space" }),
    id && h("span", { class: "quiet", id: "connection" }, live?.connected ? "live" : over ? "ended" : "connecting ..."),
    page.options.read_only ? h("span", { class: "quiet" }, "read-only") : null,
    h("button", { "data-key": "theme", onclick: theme, "aria-label": "Change between light and dark" }, "◐"));
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

function go(path, replaced = false) {
  history[replaced ? "replaceState" : "pushState"](null, "", path);
  show();
}

addEventListener("popstate", show);
addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const href = link?.getAttribute("href");
  if (!href?.startsWith("/") || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(href);
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
if (localStorage.getItem("theme")) document.documentElement.dataset.theme = localStorage.getItem("theme");
show();
