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

/** Return the paths of the fields of a record that a search can compare: those with one value, also in inner records. */
function fieldsOf(schema, above = "", depth = 4) {
  return (schema.fields ?? []).flatMap((field) => {
    const [, inner] = typeOf(field.type);
    const path = above + field.name;
    if (!inner) return /^(list|map)/.test(typeOf(field.type)[0]) ? [] : [path];
    return depth && typeOf(field.type)[0].startsWith("record") ? fieldsOf(inner, `${path}.`, depth - 1) : [];
  });
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
  let open = new Set();
  const search = h("input", { type: "search", placeholder: "Search the last 5,000 records", "aria-label": "Search records", size: 32 });
  search.addEventListener("change", () => loadRecords());
  const field = h("select", { "aria-label": "Search in", onchange: () => search.value.trim() && loadRecords() }, h("option", { value: "" }, "anywhere"));

  async function load() {
    try {
      draw(await get(api(live.id, "topics", name)));
    } catch (error) {
      fill(head, h("div", { class: "row" }, h("h1", {}, name)), h("div", { class: "card error" }, error.message));
    }
  }

  /** Offer the fields of the contracts, and the key of messages, for the search. */
  function offer(names) {
    const known = new Set([...field.options].map((option) => option.value));
    for (const [value, label] of names) if (!known.has(value)) field.append(h("option", { value }, label));
  }

  function draw(topic) {
    offer(topic.contracts.flatMap((contract) => fieldsOf(contract.schema)).map((path) => [path, `${path} =`]));
    open = new Set([...head.querySelectorAll("details[open]")].map((details) => details.dataset.key));
    const opened = new Set(topic.contracts.map((contract) => contract.fingerprint).filter((key) => open.has(key)));
    fill(head, h("div", { class: "row" }, h("h1", {}, name), h("span", { class: "quiet" }, `${topic.name} on ${topic.channel}${live.structure?.topics[name]?.managed === false ? ", of others" : ""}`)),
      topic.error ? h("div", { class: "card error" }, topic.error) : h("div", { class: "card numbers" }, figure(count(topic.records), "records"), figure(bytes(topic.bytes), "size"), typeof topic.files === "number" ? figure(count(topic.files), topic.files === 1 ? "file" : "files") : null, figure(clock(topic.last_commit), "last commit")),
      Object.keys(topic.settings).length ? h("section", { class: "card" }, h("h2", {}, "Settings"), h("dl", { class: "facts" }, Object.entries(topic.settings).map(([key, value]) => [h("dt", {}, key), h("dd", { class: "mono" }, value)]))) : null,
      h("section", { class: "card" }, h("h2", {}, "Readers"), topic.damage.map((text) => h("p", { class: "bad" }, text)), readers(topic.readers)),
      h("section", { class: "card" }, h("h2", {}, "Contracts"), topic.contracts.map((contract) => h("details", { open: opened.size ? opened.has(contract.fingerprint) : topic.contracts.length === 1, "data-key": contract.fingerprint },
        h("summary", {}, h("strong", {}, contract.record), " ", h("code", {}, contract.fingerprint), h("span", { class: "quiet" }, roles(contract))), contractTree(contract.schema), contract.differences.map(difference)))));
  }

  const difference = ({ writers, record, fingerprint, fields }) => h("div", {}, h("p", {}, `of records ${writers.length ? `of ${writers.join(", ")}` : "of earlier versions"} (${record} `, h("code", {}, fingerprint), ")"),
    h("ul", { class: "mono" }, fields.map((text) => h("li", {}, text))));

  const roles = (contract) => [contract.writers.length ? ` written by ${contract.writers.join(", ")}` : "", contract.readers.length ? ` read by ${contract.readers.join(", ")}` : ""].join(";").replace(/^;|;$/g, "") || " of earlier records";

  function readers(list) {
    if (!list.length) return h("p", { class: "quiet" }, "Nobody has read it yet.");
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Readers" }, h("table", {}, h("thead", {}, h("tr", {}, ["reader", "lag, records", "lag, time", "position"].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, list.map((reader) => h("tr", {}, h("td", {}, reader.name), reader.error ? h("td", { colspan: 3, class: "bad" }, reader.error) : [h("td", {}, short(reader.lag), partitions(reader)),
        h("td", {}, reader.lag_seconds === null ? "–" : span(reader.lag_seconds)), h("td", { class: "mono" }, reader.position ?? "the beginning")])))));
  }

  function partitions({ name: reader, partitions: lags }) {
    const known = Object.entries(lags).sort(([one], [other]) => one - other);
    if (known.length < 2) return null;
    const behind = known.filter(([, lag]) => lag > 0).length;
    const key = `partitions ${reader}`;
    return h("details", { "data-key": key, open: open.has(key) }, h("summary", {}, behind ? `in ${behind} of ${known.length} partitions` : `in none of ${known.length} partitions`),
      h("ul", { class: "mono" }, known.map(([number, lag]) => h("li", {}, `${number}: ${count(lag)}`))));
  }

  async function loadRecords() {
    if (!options.records) return fill(records, h("p", { class: "quiet" }, "This server shows no records."));
    try {
      const found = await get(`${api(live.id, "topics", name, "records")}?${new URLSearchParams({ count: 50, containing: search.value.trim(), field: field.value })}`);
      if (found.keys) offer([["_key", "the key ="]]);
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
    node: h("div", {}, head, h("section", { class: "card" }, h("div", { class: "row" }, h("h2", {}, "Last records"), search, field, h("button", { onclick: () => loadRecords() }, "Read again")), records)),
    close: polling.close,
  };
}

const recent = (number) => (number > 1 ? `the last ${number} records, newest first` : number ? "the only record" : "No records.");
const figure = (value, label) => h("div", {}, h("b", {}, value), h("span", { class: "quiet" }, label));
