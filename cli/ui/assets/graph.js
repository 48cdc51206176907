// The drawing of an application: the server has laid it out in cells, as for a terminal; here it becomes alive.

import { fill, h } from "./dom.js";
import { counted, rate, short } from "./format.js";
import { backlogOf, busyOf, portRate, rateOf, sum, total } from "./live.js";
import { shape, shown, tone } from "./states.js";

const ACROSS = 9;
const DOWN = 15;
const WORST = ["failed", "stuck", "lost", "overdue", "backing-off", "starting", "draining", "paused", "stopped", "running", "completed"];
const LARGEST = 7; // the bar of a backlog is full at 10 million records; each tenth of it is a seventh shorter
const x = (cell) => cell * ACROSS + ACROSS / 2;
const y = (cell) => cell * DOWN + DOWN / 2;

/** Return the phase in which the last batches of a streamlet spent most of their time. */
function phaseOf(streamlet) {
  const phases = streamlet.units.flatMap((unit) => Object.entries(unit.phases ?? {}));
  return phases.sort((one, other) => other[1] - one[1])[0]?.[0] ?? "";
}

/** Return a group as one streamlet: its queries are those of all members, and its state is the worst of theirs. */
function together(members) {
  const worst = [...members].sort((one, other) => WORST.indexOf(shown(one)) - WORST.indexOf(shown(other)))[0];
  return { ...worst, units: members.flatMap((member) => member.units) };
}

export class Graph {
  constructor(live, address, expand) {
    this.live = live;
    this.expand = expand;
    this.address = address;
    this.node = h("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Graph of the application" });
    this.zoom = 1;
    this.nodes = {};
    this.labels = [];
    this.drawn = null;
  }

  /** Show the last status; `changed` has the names of the streamlets to look at, null for all. */
  update(changed) {
    if (this.drawn !== this.live.structure) {
      this.draw();
      changed = null;
    }
    for (const name of new Set([...(changed ?? Object.keys(this.live.streamlets))].map((ref) => this.boxOf[ref]))) this.showBox(name);
    for (const label of this.labels) this.showFlow(label);
    this.markBottleneck();
  }

  draw() {
    const { drawing, topics } = this.live.structure;
    this.drawn = this.live.structure;
    this.nodes = {};
    this.boxOf = {};
    this.labels = [];
    const width = drawing.width * ACROSS + 8;
    const height = drawing.height * DOWN + 8;
    this.size = [width, height];
    this.svg = h("svg", { viewBox: `-4 -4 ${width} ${height}`, width, height });
    const kinds = Object.fromEntries(drawing.nodes.map((node) => [node.id, node]));
    for (const wire of drawing.wires) this.svg.append(...this.wire(wire, kinds, drawing));
    for (const node of drawing.nodes) this.svg.append(node.kind === "topic" ? this.topic(node, topics) : this.box(node));
    for (const label of this.labels) this.svg.append(label.text);
    fill(this.node, drawing.nodes.length ? this.svg : h("p", { class: "quiet" }, ["This application has not run yet: start it with ", h("code", {}, "flow run"), "."]));
    this.setZoom(this.zoom);
  }

  wire(wire, kinds, { edges, wires }) {
    const moves = wire.lines.map((line) => `M${x(line.x1)} ${y(line.y1)}L${x(line.x2)} ${y(line.y2)}`).join("");
    const parts = [h("path", { class: "wire", d: moves })];
    for (const tip of wire.tips) {
      const [tx, ty] = [x(tip.x), y(tip.y)];
      const target = wire.upward ? wire.source : tip.node;
      const source = wire.upward ? tip.node : wire.source;
      if (kinds[tip.node].kind !== "topic" || tip.upward) {
        const end = ty + (tip.upward ? -DOWN : DOWN) / 2;
        const base = end + (tip.upward ? 7 : -7);
        parts.push(h("polygon", { class: "arrow", points: `${tx - 4},${base} ${tx + 4},${base} ${tx},${end}` }));
      }
      const ports = edges.filter((edge) => edge.source === source && edge.target === target);
      if (!ports.length) continue;
      const crowded = wires.some((other) => other.tips.some((each) => each.y === tip.y && each.x > tip.x && each.x < tip.x + 8));
      const text = h("text", { class: "flow", x: crowded ? tx - 6 : tx + 6, y: ty + 4, "text-anchor": crowded ? "end" : "start" });
      this.labels.push({ text, ports: ports.map((edge) => edge.port.split(".")) });
    }
    return parts;
  }

  /** Return the box of a streamlet, which is a link to it, or of a group, which opens the group. */
  box(node) {
    const group = node.kind === "group";
    const members = group ? this.live.structure.groups[node.name] : [node.name];
    for (const ref of members) this.boxOf[ref] = node.id;
    const box = [node.x * ACROSS, node.y * DOWN, node.width * ACROSS, node.height * DOWN];
    const [left, top, width, height] = box;
    const parts = {
      icon: h("path", { class: "icon", transform: `translate(${left + 10} ${top + 30})` }),
      state: h("text", { x: left + 27, y: top + 40 }),
      rate: h("text", { class: "quiet", x: left + width - 10, y: top + 40, "text-anchor": "end" }),
      track: h("rect", { class: "track", x: left + 10, y: top + 48, width: width - 20, height: 5, rx: 2 }),
      level: h("rect", { class: "level", x: left + 10, y: top + 48, width: 0, height: 5, rx: 2 }),
      queue: h("rect", { class: "backlog", x: left + 10, y: top + 54, width: 0, height: 3, rx: 1 }),
      marks: h("text", { class: "quiet", x: left + 10, y: top + 67 }),
      backlog: h("text", { class: "quiet", x: left + width - 10, y: top + 67, "text-anchor": "end" }),
      title: h("title"),
      width: width - 20,
    };
    const drawn = h("g", { class: "node" },
      group ? h("rect", { class: "frame", x: left + 4, y: top + 4, width, height }) : null,
      h("rect", { class: "frame", x: left, y: top, width, height }), parts.title,
      h("text", { class: "name", x: left + width / 2, y: top + 18 }, node.name, group ? h("tspan", { class: "quiet" }, ` (${node.detail})`) : null),
      parts.icon, parts.state, parts.rate, parts.track, parts.level, parts.queue, parts.marks, parts.backlog);
    this.nodes[node.id] = { ...parts, drawn, members, name: node.name };
    const to = group ? { href: "#", role: "button", onclick: (event) => { event.preventDefault(); this.expand(node.name); } }
      : { href: this.address(this.live.id, "streamlets", node.name) };
    const link = h("a", { drawn: true, ...to, "data-key": node.id }, drawn);
    link.dataset.name = node.name;
    return link;
  }

  topic(node, topics) {
    const [left, top, width, height] = [node.x * ACROSS, node.y * DOWN, node.width * ACROSS, node.height * DOWN];
    const link = h("a", { drawn: true, href: this.address(this.live.id, "topics", node.name), "data-key": node.id },
      h("g", { class: "topic" }, h("rect", { class: "frame", x: left, y: top, width, height }),
        h("title", {}, `topic ${node.name} on ${topics[node.name]?.channel ?? "its channel"}`),
        h("text", { class: "name", x: left + width / 2, y: top + height / 2 + 4 }, node.name)));
    link.dataset.name = node.name;
    return link;
  }

  showBox(id) {
    const parts = this.nodes[id];
    const members = (parts?.members ?? []).map((ref) => this.live.streamlets[ref]).filter(Boolean);
    if (!members.length) return;
    const streamlet = members.length > 1 ? together(members) : members[0];
    const word = shown(streamlet);
    const busy = busyOf(streamlet);
    const backlog = backlogOf(streamlet);
    const dead = total(streamlet, "dead_letters");
    const late = total(streamlet, "late");
    const restarts = total(streamlet, "restarts");
    parts.drawn.setAttribute("class", `node ${tone(word)}`);
    parts.icon.setAttribute("d", shape(word));
    parts.state.textContent = word;
    parts.rate.textContent = rate(rateOf(streamlet));
    parts.level.setAttribute("width", Math.round((busy ?? 0) * parts.width));
    parts.queue.setAttribute("width", Math.round(Math.min(1, Math.log10(1 + (backlog ?? 0)) / LARGEST) * parts.width));
    parts.backlog.textContent = backlog ? `${short(backlog)} waiting` : "";
    parts.marks.textContent = [dead && `✝${short(dead)}`, late && `late ${short(late)}`, restarts && `↻${restarts}`].filter(Boolean).join(" ");
    const known = [`${parts.name}: ${word}`, streamlet.reason, streamlet.waiting, busy !== null && `busy ${Math.round(busy * 100)} %`,
      backlog ? `${short(backlog)} ${backlog === 1 ? "record waits" : "records wait"}` : "", dead && counted(dead, "dead letter"), late && counted(late, "late record"),
      restarts && counted(restarts, "restart")];
    parts.title.textContent = known.filter(Boolean).join("; ");
  }

  showFlow({ text, ports }) {
    const records = sum(ports.map(([ref, port]) => (this.live.streamlets[ref] ? portRate(this.live.streamlets[ref], port) : 0)));
    text.textContent = records ? rate(records) : "";
  }

  /** Mark the streamlet that is busiest, if it keeps records waiting. */
  markBottleneck() {
    let worst = null;
    for (const [ref, streamlet] of Object.entries(this.live.streamlets)) {
      const busy = busyOf(streamlet) ?? 0;
      if (busy >= 0.8 && backlogOf(streamlet) && busy > (worst?.busy ?? 0)) worst = { ref, busy };
    }
    for (const parts of Object.values(this.nodes)) {
      const marked = worst !== null && parts.members.includes(worst.ref);
      parts.backlog.setAttribute("class", marked ? "bottleneck" : "quiet");
      if (marked) parts.marks.textContent = `bottleneck: ${phaseOf(this.live.streamlets[worst.ref]) || "busy"}`;
      parts.marks.setAttribute("class", marked ? "bottleneck" : "quiet");
    }
  }

  setZoom(zoom) {
    this.zoom = Math.min(3, Math.max(0.2, zoom));
    this.svg?.setAttribute("width", Math.round(this.size[0] * this.zoom));
    this.svg?.setAttribute("height", Math.round(this.size[1] * this.zoom));
  }

  fit() {
    if (this.size) this.setZoom(Math.min(1.2, (this.node.clientWidth - 20) / this.size[0]));
  }

  /** Show only what has a text in its name, and scroll to the first; return how many there are. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    const links = [...this.node.querySelectorAll("a")];
    const found = links.filter((link) => link.dataset.name.toLowerCase().includes(wanted));
    for (const link of links) link.classList.toggle("dimmed", Boolean(wanted) && !found.includes(link));
    if (wanted && found.length) found[0].scrollIntoView({ block: "center", inline: "center" });
    return found.length;
  }
}
