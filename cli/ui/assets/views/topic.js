// A topic: its contracts as trees, who reads it and how far, and its last records.

import { fill, h } from "../dom.js";
import { bytes, clock, count, counted, short, span } from "../format.js";
import { repeatedly } from "../repeated.js";
import { api, get } from "../server.js";

/** Return the type of an Avro schema in words, and the record in it, if there is one. */
function typeOf(schema) {
  if (typeof schema === "string") return [schema, null];
  if (Array.isArray(schema)) {
    const parts = schema.map(typeOf);
    const others = parts.filter(([text]) => text !== "null");
    const optional = others.length < parts.length ? " or null" : "";
    return [others.map(([text]) => text).join(" or ") + optional, others.map(([, inner]) => inner).find(Boolean) ?? null];
  }
  if (schema.type === "record") return [`record ${schema.name}`, schema];
  if (schema.type === "array") return [`list of ${typeOf(schema.items)[0]}`, typeOf(schema.items)[1]];
  if (schema.type === "map") return [`map of ${typeOf(schema.values)[0]}`, typeOf(schema.values)[1]];
  if (schema.type === "enum") return [`one of ${schema.symbols.join(", ")}`, null];
  if (schema.logicalType === "decimal") return [`decimal(${schema.precision}, ${schema.scale ?? 0})`, null];
  if (typeof schema.type === "object") return typeOf(schema.type);
  return [schema.logicalType ?? schema.type, null];
}

export function contractTree(schema) {
  const fields = (record) => h("ul", {}, record.fields.map((field) => {
    const [text, inner] = typeOf(field.type);
    const value = "default" in field ? ` = ${JSON.stringify(field.default)}` : "";
    return h("li", {}, h("strong", { class: "mono" }, field.name), h("span", { class: "quiet mono" }, ` ${text}${value}`),
      field.doc ? h("span", { class: "quiet" }, ` – ${field.doc}`) : null, inner?.fields ? fields(inner) : null);
  }));
  return h("div", { class: "tree" }, schema.fields ? fields(schema) : h("code", {}, JSON.stringify(schema)));
}

export function topicView({ live, options, name }) {
  const head = h("div", {}, h("div", { class: "row" }, h("h1", {}, name)));
  const records = h("div");
  const search = h("input", { type: "search", placeholder: "Search the last 5,000 records", "aria-label": "Search records", size: 32 });
  search.addEventListener("change", () => loadRecords());

  async function load() {
    try {
      draw(await get(api(live.id, "topics", name)));
    } catch (error) {
      fill(head, h("div", { class: "row" }, h("h1", {}, name)), h("div", { class: "card error" }, error.message));
    }
  }

  function draw(topic) {
    const opened = new Set([...head.querySelectorAll("details[open]")].map((details) => details.dataset.key));
    fill(head, h("div", { class: "row" }, h("h1", {}, name), h("span", { class: "quiet" }, `${topic.name} on ${topic.channel}${live.structure?.topics[name]?.managed === false ? ", of others" : ""}`)),
      topic.error ? h("div", { class: "card error" }, topic.error) : h("div", { class: "card numbers" }, figure(count(topic.records), "records"), figure(bytes(topic.bytes), "size"), figure(clock(topic.last_commit), "last commit")),
      h("section", { class: "card" }, h("h2", {}, "Readers"), topic.damage.map((text) => h("p", { class: "bad" }, text)), readers(topic.readers)),
      h("section", { class: "card" }, h("h2", {}, "Contracts"), topic.contracts.map((contract) => h("details", { open: opened.size ? opened.has(contract.fingerprint) : topic.contracts.length === 1, "data-key": contract.fingerprint },
        h("summary", {}, h("strong", {}, contract.record), " ", h("code", {}, contract.fingerprint), h("span", { class: "quiet" }, roles(contract))), contractTree(contract.schema)))));
  }

  const roles = (contract) => [contract.writers.length ? ` written by ${contract.writers.join(", ")}` : "", contract.readers.length ? ` read by ${contract.readers.join(", ")}` : ""].join(";").replace(/^;|;$/g, "") || " of earlier records";

  function readers(list) {
    if (!list.length) return h("p", { class: "quiet" }, "Nobody has read it yet.");
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Readers" }, h("table", {}, h("thead", {}, h("tr", {}, ["reader", "lag, records", "lag, time", "position"].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, list.map((reader) => h("tr", {}, h("td", {}, reader.name), reader.error ? h("td", { colspan: 3, class: "bad" }, reader.error) : [h("td", {}, short(reader.lag)),
        h("td", {}, reader.lag_seconds === null ? "–" : span(reader.lag_seconds)), h("td", { class: "mono" }, reader.position ?? "the beginning")])))));
  }

  async function loadRecords() {
    if (!options.records) return fill(records, h("p", { class: "quiet" }, "This server shows no records."));
    try {
      const found = await get(`${api(live.id, "topics", name, "records")}?count=50&containing=${encodeURIComponent(search.value.trim())}`);
      fill(records, h("p", { class: "quiet" }, search.value.trim() ? `${counted(found.matching, "match", "matches")} in the last ${counted(found.searched, "record")}` : recent(found.records.length)),
        found.invalid.map((line) => h("p", { class: "bad" }, `not a record: ${line}`)),
        found.records.map((record) => h("pre", { class: "record" }, JSON.stringify(record, null, 1).replace(/\n\s*/g, " "))));
    } catch (error) {
      fill(records, h("p", { class: "bad" }, error.message));
    }
  }

  const polling = repeatedly(load, 5);
  loadRecords();
  return {
    node: h("div", {}, head, h("section", { class: "card" }, h("div", { class: "row" }, h("h2", {}, "Last records"), search, h("button", { onclick: () => loadRecords() }, "Read again")), records)),
    close: polling.close,
  };
}

const recent = (number) => (number > 1 ? `the last ${number} records, newest first` : number ? "the only record" : "No records.");
const figure = (value, label) => h("div", {}, h("b", {}, value), h("span", { class: "quiet" }, label));
