"""Layered layout, first part: the row of every node and the order in the rows. Deterministic; cycles are cut."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

_SWEEPS = 12
_STARTS = 24
_EFFORT = 4000  # maximum number of nodes and bends in all starts together


@dataclass(frozen=True, slots=True)
class Link:
    """A line from one layer down to the next.

    Arguments:
        upper: the id of the upper node or bend.
        lower: the id of the lower node or bend.
        net: the net that the line belongs to; lines of one net may overlap.
        upward: whether its edge points up, because it closes a cycle.
    """

    upper: str
    lower: str
    net: str
    upward: bool = False


@dataclass(frozen=True, slots=True)
class Layers:
    """Nodes and bends by row, left to right, and the links between neighbouring rows.

    A bend is where a line passes through a row; its id differs from the ids of nodes.
    """

    rows: tuple[tuple[str, ...], ...]
    links: tuple[Link, ...]
    bends: frozenset[str]


def layers(nodes: Sequence[str], edges: Iterable[tuple[str, str]], back: Collection[tuple[str, str]] = ()) -> Layers:
    """Arrange `nodes` in rows so that edges go down, with few crossings (longest paths, then barycentres).

    Arguments:
        nodes: ids, in their preferred order.
        edges: pairs of different ids; duplicates are ignored.
        back: the edges that point up, because they close a cycle; others do so where cycles remain.
    """
    unique = list(dict.fromkeys(edges))
    back = {*back, *_back_edges(nodes, [edge for edge in unique if edge not in back])}
    down = [(b, a) if (a, b) in back else (a, b) for a, b in unique]
    rank = _ranks(nodes, down)
    links, bends = _links(unique, back, rank)
    rows: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for node in [*nodes, *bends]:
        rows[(rank | bends)[node]].append(node)
    return Layers(tuple(map(tuple, _ordered(rows, links))), tuple(links), frozenset(bends))


def _neighbours(edges: Iterable[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    below: dict[str, list[str]] = {}
    above: dict[str, list[str]] = {}
    for a, b in edges:
        below.setdefault(a, []).append(b)
        above.setdefault(b, []).append(a)
    return below, above


def _back_edges(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return edges whose reversal removes all cycles: the back edges of a depth-first search."""
    below, above = _neighbours(edges)
    back: set[tuple[str, str]] = set()
    state: dict[str, str] = {}
    for start in sorted(nodes, key=lambda node: node in above):  # nodes without a producer first
        if start in state:
            continue
        state[start] = "on the way"
        way = [(start, iter(below.get(start, ())))]
        while way:
            node, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[node] = "done"
                way.pop()
            elif state.get(following) == "on the way":
                back.add((node, following))
            elif following not in state:
                state[following] = "on the way"
                way.append((following, iter(below.get(following, ()))))
    return back


def _ranks(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Row numbers: each node as high as its producers allow; then what only feeds goes down to its consumers."""
    below, above = _neighbours(dict.fromkeys(edges))
    missing = {node: len(above.get(node, ())) for node in nodes}
    order = [node for node in nodes if not missing[node]]
    rank = dict.fromkeys(nodes, 0)
    for node in order:  # grows while it is walked
        for following in below.get(node, ()):
            rank[following] = max(rank[following], rank[node] + 1)
            missing[following] -= 1
            if not missing[following]:
                order.append(following)
    for node in reversed(order):
        if len(below.get(node, ())) >= max(1, len(above.get(node, ()))):
            rank[node] = min(rank[following] for following in below[node]) - 1
    return rank


def _links(
    edges: Sequence[tuple[str, str]], back: set[tuple[str, str]], rank: Mapping[str, int]
) -> tuple[list[Link], dict[str, int]]:
    """Split edges into links from row to row, with bends (id to row) between; edges of one source share bends."""
    links: dict[Link, None] = {}
    bends: dict[str, int] = {}
    for source, target in edges:
        upward = (source, target) in back
        upper, lower = (target, source) if upward else (source, target)
        net = f"{source} ^ {target}" if upward else source
        here = upper
        for row in range(rank[upper] + 1, rank[lower]):
            bend = f"{net} | {row}"
            bends[bend] = row
            links[Link(here, bend, net, upward)] = None
            here = bend
        links[Link(here, lower, net, upward)] = None
    return list(links), bends


def _ordered(rows: list[list[str]], links: Sequence[Link]) -> list[list[str]]:
    """Return the first ordering with the fewest crossings, among sweeps down and up from several initial orders."""
    below, above = _neighbours((link.upper, link.lower) for link in links)
    best, fewest = rows, _crossings(rows, below)
    for start in range(max(1, min(_STARTS, _EFFORT // max(1, sum(map(len, rows)))))):
        tried = [_shuffled(row, start) for row in rows]
        for sweep in range(_SWEEPS):
            if not fewest:
                return best
            tried = _swept(tried, above if sweep % 2 == 0 else below, downwards=sweep % 2 == 0)
            crossings = _crossings(tried, below)
            if crossings < fewest:
                best, fewest = tried, crossings
    return best


def _shuffled(row: list[str], start: int) -> list[str]:
    """Return the initial order of a start: the preferred order for 0, otherwise a reproducible permutation."""
    return sorted(row, key=lambda node: crc32(f"{start} {node}".encode())) if start else row


def _swept(rows: list[list[str]], near: Mapping[str, list[str]], *, downwards: bool) -> list[list[str]]:
    """Return the rows, each sorted by its neighbours in the previous row of the sweep."""
    rows = list(rows)
    for index in range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1):
        fixed = {node: place for place, node in enumerate(rows[index - 1 if downwards else index + 1])}
        rows[index] = _by_barycentre(rows[index], near, fixed)
    return rows


def _by_barycentre(row: list[str], near: Mapping[str, list[str]], fixed: Mapping[str, int]) -> list[str]:
    """Return a row sorted by the mean position of its neighbours; nodes without neighbours keep their position."""
    mean: dict[str, float] = {}
    for node in row:
        places = [fixed[other] for other in near.get(node, ())]
        if places:
            mean[node] = sum(places) / len(places)
    moved = iter(sorted(mean, key=lambda node: mean[node]))
    return [next(moved) if node in mean else node for node in row]


def _crossings(rows: Sequence[Sequence[str]], below: Mapping[str, list[str]]) -> int:
    """Return how many pairs of links cross."""
    count = 0
    for upper, lower in pairwise(rows):
        place = {node: index for index, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            targets = sorted(place[other] for other in below.get(node, ()))
            for target in targets:
                count += len(seen) - bisect_right(seen, target)
            for target in targets:
                insort(seen, target)
    return count
