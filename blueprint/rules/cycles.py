"""The rule about circles: streamlets that feed each other are told as one way round, edge by edge."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.diagnostics.report import counted
from blueprint.graph import Cycle, Edge
from blueprint.rules.draft import Draft


def cycles(draft: Draft) -> Iterator[Diagnostic]:
    """No streamlet feeds itself, directly or round about, unless the blueprint says `allow-cycles = true`."""
    if draft.blueprint.allow_cycles:
        return
    for cycle in draft.graph.cycles():
        yield _circle(cycle)


def _circle(cycle: Cycle) -> Diagnostic:
    first = next(index for index, edge in enumerate(cycle.path) if edge.source.kind == "streamlet")
    path = (*cycle.path[first:], *cycle.path[:first])
    streamlets = [edge.source.name for edge in path if edge.source.kind == "streamlet"]
    if len(streamlets) == 1:
        headline = f"`{streamlets[0]}` reads what it writes"
    else:
        others = counted(len(streamlets) - 1, "other streamlet")
        headline = f"`{streamlets[0]}` and {others} feed each other in a circle"
    causes = ["the way round: " + " -> ".join([*(f"`{edge.source}`" for edge in path), f"`{path[0].source}`"])]
    if cycle.further:
        causes.append(f"{counted(cycle.further, 'further connection')} of the same knot not shown")
    return finding(
        "cycle",
        headline,
        path[0].span,
        label=_said(path[0]),
        also=(Label(edge.span, _said(edge)) for edge in path[1:]),
        causes=causes,
        help=("take one connection out, or say that the circle is meant: `allow-cycles = true` in `blueprint`",),
    )


def _said(edge: Edge) -> str:
    if edge.source.kind == "streamlet":
        return f"`{edge.source}` writes `{edge.target}`"
    return f"`{edge.target}` reads `{edge.source}`"
