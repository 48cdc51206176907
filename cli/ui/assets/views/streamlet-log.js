// The records of the log that are about a streamlet. They are read only while they are shown.

import { h } from "../dom.js";
import { repeatedly } from "../repeated.js";
import { api, get } from "../server.js";

const EVERY = 3; // seconds

export function streamletLog({ live, ref, address }) {
  const box = h("pre", { class: "mono", tabindex: "0", role: "region", "aria-label": "Log of the streamlet" }, "Loading ...");
  let polling = null;

  async function load() {
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
    try {
      const { records } = await get(`${api(live.id, "streamlets", ref)}/log`);
      box.textContent = records.join("\n") || "The end of the log has no record about this streamlet.";
    } catch (error) {
      box.textContent = error.message;
    }
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  function close() {
    polling?.close();
    polling = null;
  }

  const shown = h("details", { ontoggle: () => { close(); if (shown.open) polling = repeatedly(load, EVERY); } }, h("summary", {}, "The records about this streamlet"),
    h("p", { class: "quiet" }, "Events and failures in full. What Spark and all streamlets write is in the ", h("a", { href: address(live.id, "logs") }, "log files"), "."), box);
  return { node: h("section", { class: "card" }, h("h2", {}, "Log"), shown), close };
}
