"""Rules about circles: told as one way round, edge by edge, unless a streamlet is said to stop them."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, FixKind, Label, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.diagnostics.report import counted
from blueprint.model.draft import Draft
from blueprint.model.graph import Cycle, Edge, Node
from blueprint.spelling import alternatives, listing, near, sole_meanings
from blueprint.verification.rules.links import missing_links


def cycles(draft: Draft) -> Iterator[Diagnostic]:
    """No streamlet feeds itself, directly or round about, but through one that `allow-cycles` says stops the circle.

    What is left without those streamlets has no way round, so a circle that comes in later is told, too.
    """
    stops = draft.blueprint.cycle_stops
    if stops is None:
        return
    if any(ref not in draft.blueprint.streamlets for ref in stops):
        return  # which circle the unknown one was to stop is not known
    for cycle in draft.graph.without(stops).cycles():
        yield _circle(draft, cycle)


def _circle(draft: Draft, cycle: Cycle) -> Diagnostic:
    path = cycle.path
    streamlets = [edge.source.name for edge in path if edge.source.kind == "streamlet"]
    if len(streamlets) == 1:
        headline = f"`{streamlets[0]}` reads what it writes"
    else:
        others = counted(len(streamlets) - 1, "other streamlet")
        headline = f"`{streamlets[0]}` and {others} feed each other in a circle"
    causes = ["the way round: " + " -> ".join([*(f"`{edge.source}`" for edge in path), f"`{path[0].source}`"])]
    if cycle.further:
        causes.append(f"{counted(cycle.further, 'further connection')} of the same knot not shown")
    if draft.blueprint.cycle_stops:
        causes.append(f"it does not pass {alternatives(draft.blueprint.cycle_stops)}, which `allow-cycles` names")
    entry = f'`allow-cycles {{ {streamlets[-1]} = "gives a record up after three tries" }}`'
    remedy = f"take one connection out, or name in `blueprint` the streamlet that stops the circle, and how: {entry}"
    return finding(
        "cycle",
        headline,
        path[0].span,
        label=_said(path[0]),
        also=(Label(edge.span, _said(edge)) for edge in path[1:]),
        causes=causes,
        help=(remedy,),
    )


def _said(edge: Edge) -> str:
    if edge.source.kind == "streamlet":
        return f"`{edge.source}` writes `{edge.target}`"
    return f"`{edge.target}` reads `{edge.source}`"


def unknown_stops(draft: Draft) -> Iterator[Diagnostic]:
    """The streamlets that `allow-cycles` names exist."""
    names = {*draft.blueprint.streamlets, *draft.blueprint.broken}
    stops = draft.blueprint.cycle_stops or {}
    only = sole_meanings([ref for ref in stops if ref not in names], names, taken=stops)
    for ref, stop in stops.items():
        if ref not in names:
            close = near(ref, names)
            yield finding(
                "unknown-streamlet",
                f"there is no streamlet `{ref}` to stop a circle",
                stop.key,
                help=(f"did you mean {alternatives(close)}?",) if close else (),
                fix=rewrite(FixKind.RENAME_CYCLE_STOP, (stop.key, ref, only[ref])) if ref in only else None,
            )


def needless_stops(draft: Draft) -> Iterator[Diagnostic]:
    """The streamlets that `allow-cycles` names are in a circle; not asked where the wiring is wrong anyway."""
    stops = draft.blueprint.cycle_stops
    if not stops or draft.blueprint.topics_broken or draft.wiring.strays or missing_links(draft):
        return
    if draft.graph.without(stops).cyclic_components():
        return  # the streamlet named may be the wrong one of the circle that is told
    circling = {node for knot in draft.graph.cyclic_components() for node in knot}
    for ref, stop in stops.items():
        if ref in draft.blueprint.streamlets and Node("streamlet", ref) not in circling:
            yield finding(
                "cycle-not-there",
                f"`{ref}` is in no circle, so `allow-cycles` has nothing to allow",
                stop.key,
                help=("take the entry out: it would let a circle pass that comes in by mistake",),
            )


def unfed_circles(draft: Draft) -> Iterator[Diagnostic]:
    """Records can come into every circle, from an ingress or from a topic that others fill; told once for all behind.

    Only streamlets in or behind a circle can be cut off. Where a circle is not allowed, that is told first.
    """
    stops, graph = draft.blueprint.cycle_stops, draft.graph
    knots = graph.cyclic_components() if stops and not draft.blueprint.topics_broken else ()
    if not knots or graph.without(stops or ()).cyclic_components():
        return
    fed = {edge.target for edge in graph.edges}
    starts = {Node("streamlet", ref) for ref in graph.streamlets} - fed
    starts |= {Node("topic", id) for id in graph.topics} - fed
    starts |= {Node("topic", id) for id, facts in draft.topics.items() if not facts.managed}
    reached = graph.reachable(starts)
    for knot in knots:
        inside = set(knot)
        if inside <= reached or any(edge.target in inside and edge.source not in inside for edge in graph.edges):
            continue
        cut_off = [ref for ref in graph.streamlets if Node("streamlet", ref) in graph.reachable(inside) - reached]
        circle = [ref for ref in cut_off if Node("streamlet", ref) in inside]
        behind = [ref for ref in cut_off if ref not in circle]
        entries = [draft.blueprint.streamlets[ref] for ref in circle if ref in draft.blueprint.streamlets]
        if entries:
            yield finding(
                "streamlet-unreachable",
                f"no record can come to {listing(circle)}: no ingress or outside topic leads there",
                entries[0].key,
                also=(Label(entry.key, "in the circle, too") for entry in entries[1:]),
                causes=(f"nor to {listing(behind)}, which can be reached from there only",) if behind else (),
                help=("begin the circle with an ingress that writes one of its topics",),
            )
