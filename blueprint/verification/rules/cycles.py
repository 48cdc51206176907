"""Rules about cycles: each is reported as one shortest cycle, edge by edge, unless `allow-cycles` allows it."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, FixKind, Label, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.model.draft import Draft
from blueprint.model.graph import Cycle, Edge, Node
from blueprint.spelling import alternatives, listing, near, sole_meanings
from blueprint.verification.rules.links import missing_links
from blueprint.wording import counted


def cycles(draft: Draft) -> Iterator[Diagnostic]:
    """No streamlet feeds itself, directly or through others, unless the cycle has a streamlet of `allow-cycles`.

    The graph without these streamlets must be acyclic, so every cycle that is added later is reported, too.
    """
    stops = draft.blueprint.cycle_stops
    if stops is None:
        return
    if any(ref not in draft.blueprint.streamlets for ref in stops):
        return  # the cycle that the unknown streamlet should stop is not known
    for cycle in draft.graph.without(stops).cycles():
        yield _cycle_finding(draft, cycle)


def _cycle_finding(draft: Draft, cycle: Cycle) -> Diagnostic:
    path = cycle.path
    streamlets = [edge.source.name for edge in path if edge.source.kind == "streamlet"]
    if len(streamlets) == 1:
        headline = f"`{streamlets[0]}` reads a topic that it writes"
    else:
        others = counted(len(streamlets) - 1, "other streamlet")
        headline = f"`{streamlets[0]}` and {others} form a cycle"
    causes = ["the cycle: " + " -> ".join([*(f"`{edge.source}`" for edge in path), f"`{path[0].source}`"])]
    if cycle.further:
        causes.append(f"{counted(cycle.further, 'further connection')} of the strongly connected component not shown")
    if draft.blueprint.cycle_stops:
        causes.append(f"the cycle does not contain {alternatives(draft.blueprint.cycle_stops)} of `allow-cycles`")
    entry = f'`allow-cycles {{ {streamlets[-1]} = "drops a record after three attempts" }}`'
    remedy = f"remove a connection, or add the streamlet that stops the cycle, and how, to the blueprint: {entry}"
    return finding(
        "cycle",
        headline,
        path[0].span,
        label=_edge_text(path[0]),
        also=(Label(edge.span, _edge_text(edge)) for edge in path[1:]),
        causes=causes,
        help=(remedy,),
        streamlets=streamlets,
        topics=(edge.source.name for edge in path if edge.source.kind == "topic"),
    )


def _edge_text(edge: Edge) -> str:
    if edge.source.kind == "streamlet":
        return f"`{edge.source}` writes `{edge.target}`"
    return f"`{edge.target}` reads `{edge.source}`"


def unknown_stops(draft: Draft) -> Iterator[Diagnostic]:
    """The streamlets of `allow-cycles` exist."""
    names = {*draft.blueprint.streamlets, *draft.blueprint.broken}
    stops = draft.blueprint.cycle_stops or {}
    only = sole_meanings([ref for ref in stops if ref not in names], names, taken=stops)
    for ref, stop in stops.items():
        if ref not in names:
            close = near(ref, names)
            yield finding(
                "unknown-streamlet",
                f"`allow-cycles` names the unknown streamlet `{ref}`",
                stop.key,
                help=(f"did you mean {alternatives(close)}?",) if close else (),
                fix=rewrite(FixKind.RENAME_CYCLE_STOP, (stop.key, ref, only[ref])) if ref in only else None,
            )


def needless_stops(draft: Draft) -> Iterator[Diagnostic]:
    """The streamlets of `allow-cycles` are in a cycle; not checked when the wiring has errors."""
    stops = draft.blueprint.cycle_stops
    if not stops or draft.blueprint.topics_broken or draft.wiring.strays or missing_links(draft):
        return
    if draft.graph.without(stops).cyclic_components():
        return  # the entry may name the wrong streamlet of a cycle that is reported
    cyclic = {node for component in draft.graph.cyclic_components() for node in component}
    for ref, stop in stops.items():
        if ref in draft.blueprint.streamlets and Node("streamlet", ref) not in cyclic:
            yield finding(
                "cycle-not-there",
                f"`{ref}` of `allow-cycles` is not in a cycle",
                stop.key,
                help=("remove the entry: it would allow a cycle that is added by mistake",),
                streamlets=(ref,),
            )


def unfed_cycles(draft: Draft) -> Iterator[Diagnostic]:
    """Every cycle can receive records, from an ingress or an external topic; reported once for all after it.

    Only streamlets in or after a cycle can be unreachable. Cycles that are not allowed are reported first.
    """
    stops, graph = draft.blueprint.cycle_stops, draft.graph
    components = graph.cyclic_components() if stops and not draft.blueprint.topics_broken else ()
    if not components or graph.without(stops or ()).cyclic_components():
        return
    fed = {edge.target for edge in graph.edges}
    starts = {Node("streamlet", ref) for ref in graph.streamlets} - fed
    starts |= {Node("topic", id) for id in graph.topics} - fed
    starts |= {Node("topic", id) for id, facts in draft.topics.items() if not facts.managed}
    reached = graph.reachable(starts)
    for component in components:
        inside = set(component)
        if inside <= reached or any(edge.target in inside and edge.source not in inside for edge in graph.edges):
            continue
        cut_off = [ref for ref in graph.streamlets if Node("streamlet", ref) in graph.reachable(inside) - reached]
        cyclic = [ref for ref in cut_off if Node("streamlet", ref) in inside]
        following = [ref for ref in cut_off if ref not in cyclic]
        entries = [draft.blueprint.streamlets[ref] for ref in cyclic if ref in draft.blueprint.streamlets]
        if entries:
            yield finding(
                "streamlet-unreachable",
                f"no record can reach {listing(cyclic)}: no ingress or external topic leads there",
                entries[0].key,
                also=(Label(entry.key, "in the same cycle") for entry in entries[1:]),
                causes=(f"nor {listing(following)}, which can only be reached from there",) if following else (),
                help=("add an ingress that writes one of the topics of the cycle",),
                streamlets=cut_off,
            )
