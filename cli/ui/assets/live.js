// One application as it changes: a page asks for it once, then the server tells what is different.

import { api, get } from "./server.js";

const POINTS = 240;
const BATCHES = 60;
const GONE = 3;

export class Live {
  /** `changed` is called after each change with the names of the streamlets that have changed. */
  constructor(id, changed) {
    this.id = id;
    this.changed = changed;
    this.run = {};
    this.streamlets = {};
    this.events = [];
    this.structure = null;
    this.collapsed = new Set();
    this.traces = {};
    this.batches = {};
    this.connected = false;
    this.failures = 0;
    this.last = "";
    this.over = false;
    this.open();
  }

  open() {
    const after = this.last ? `?after=${encodeURIComponent(this.last)}` : "";
    this.source = new EventSource(api(this.id, "live") + after);
    this.source.addEventListener("live", (message) => this.take(message));
    this.source.addEventListener("open", () => this.connect(true));
    this.source.addEventListener("error", () => {
      this.connect(false);
      if (this.source.readyState === EventSource.CLOSED && !this.over) {
        this.source.close();
        this.timer = setTimeout(() => this.open(), 1500);
      }
    });
  }

  connect(connected) {
    this.failures = connected ? 0 : this.failures + 1;
    if (connected !== this.connected || this.failures === GONE) {
      this.connected = connected;
      this.changed(new Set());
    }
  }

  /** Return whether nobody answers any more, also not after a while. */
  get gone() {
    return this.failures >= GONE;
  }

  async take(message) {
    const data = JSON.parse(message.data);
    const other = this.run.described !== data.run.described; // a run describes itself when its Spark is up
    this.last = message.lastEventId;
    this.run = data.run;
    this.streamlets = data.whole ? data.streamlets : { ...this.streamlets, ...data.streamlets };
    this.events = [...this.events, ...data.events].slice(-2000);
    for (const [ref, streamlet] of Object.entries(this.streamlets)) this.trace(ref, streamlet);
    if (data.whole || other || !this.structure) await this.describe();
    this.changed(new Set(Object.keys(data.streamlets)));
  }

  async describe() {
    try {
      const query = new URLSearchParams([...this.collapsed].map((group) => ["collapsed", group]));
      this.structure = await get(`${api(this.id, "structure")}?${query}`);
      this.problem = "";
    } catch (error) {
      this.structure ??= { name: this.id, streamlets: {}, groups: {}, topics: {}, drawing: { width: 0, height: 0, nodes: [], wires: [], edges: [] } };
      this.problem = error.message;
    }
  }

  /** Draw a group as one box, or its streamlets again. */
  async toggle(group) {
    if (!this.collapsed.delete(group)) this.collapsed.add(group);
    await this.describe();
    this.changed(new Set(Object.keys(this.streamlets)));
  }

  trace(ref, streamlet) {
    const points = (this.traces[ref] ??= []);
    points.push({ time: this.run.written ?? 0, rate: rateOf(streamlet), backlog: backlogOf(streamlet) ?? 0 });
    if (points.length > POINTS) points.shift();
    for (const unit of streamlet.units) {
      const batches = (this.batches[`${ref}.${unit.query}`] ??= []);
      if (unit.batch === null || unit.batch === batches[batches.length - 1]?.number) continue;
      batches.push({ number: unit.batch, seconds: unit.batch_seconds, phases: unit.phases ?? {} });
      if (batches.length > BATCHES) batches.shift();
    }
  }

  /** Take the batches of a streamlet from before this page was opened, by query. */
  remember(ref, stored) {
    for (const [query, earlier] of Object.entries(stored)) {
      const known = this.batches[`${ref}.${query}`] ?? [];
      const first = known[0]?.number ?? Infinity;
      const last = earlier.findLastIndex((batch) => batch.number < first); // after a reset, numbers begin again
      this.batches[`${ref}.${query}`] = [...earlier.slice(0, last + 1), ...known].slice(-BATCHES);
    }
  }

  close() {
    this.over = true;
    clearTimeout(this.timer);
    this.source.close();
  }
}

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Return the sum of a field over the queries of a streamlet. */
export const total = (streamlet, field) => sum(streamlet.units.map((unit) => unit[field]));
export const rateOf = (streamlet) => total(streamlet, "rate");

export function backlogOf(streamlet, inlet) {
  const counts = streamlet.units.flatMap((unit) =>
    Object.entries(unit.backlog).filter(([name]) => !inlet || name === inlet).map(([, records]) => records));
  return counts.length ? sum(counts) : null;
}

/** Return the number of replicas that this run was asked for and the one of the blueprint; null for none. */
export function replicasOf(live, ref) {
  return { requested: live.streamlets[ref]?.replicas ?? null, planned: live.structure?.streamlets[ref]?.replicas ?? null };
}

/** Return whether a streamlet has queries whose tasks can be counted: a spout has none, and a real-time query has its own. */
export function isScalable(live, ref) {
  return live.streamlets[ref].units.some((unit) => unit.query) && live.structure?.streamlets[ref]?.real_time !== true;
}

/** Return the records per second at a port: its share of the records of each query. */
export function portRate(streamlet, port) {
  return sum(streamlet.units.map((unit) => {
    const rows = unit.rows_in || sum(Object.values(unit.rows_out));
    const records = unit.ports[port]?.records ?? 0;
    return rows ? (unit.rate * records) / rows : 0;
  }));
}

/** Return the time in batches by time passed, from 0 to 1; null if it is not known. */
export function busyOf(streamlet) {
  const known = streamlet.units.map((unit) => unit.busy).filter((busy) => typeof busy === "number");
  return known.length ? Math.max(...known) : null;
}
