"""Circles in a graph of streamlets and topics: its knots, and a shortest way round one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blueprint.graph import Edge, Node

_MOST_STEPS = 200_000
"""In a huge knot the shortest way that so many steps find is as good an example as any."""


def components(nodes: Iterable[Node], edges: Iterable[Edge]) -> tuple[tuple[Node, ...], ...]:
    """Strongly connected components of more than one node, each sorted, by their first node (Kosaraju's algorithm).

    Arguments:
        nodes: edges from or to others are left out.
    """
    following: dict[Node, list[Node]] = {node: [] for node in nodes}
    leading: dict[Node, list[Node]] = {node: [] for node in following}
    for edge in edges:
        if edge.source in following and edge.target in following:
            following[edge.source].append(edge.target)
            leading[edge.target].append(edge.source)
    found: set[Node] = set()
    parts = []
    for node in reversed(_finished(following)):
        if node not in found:
            part = _reached(node, leading, found)
            if len(part) > 1:
                parts.append(tuple(sorted(part)))
    return tuple(sorted(parts))


def _finished(following: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """All nodes, each behind those that a search in depth finds from it."""
    order: list[Node] = []
    seen: set[Node] = set()
    for start in following:
        if start in seen:
            continue
        seen.add(start)
        way = [(start, iter(following[start]))]
        while way:
            node, targets = way[-1]
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    way.append((target, iter(following[target])))
                    break
            else:
                order.append(node)
                way.pop()
    return order


def _reached(start: Node, leading: Mapping[Node, Sequence[Node]], found: set[Node]) -> list[Node]:
    """What leads to `start` and was not found before; it is found now."""
    found.add(start)
    part, waiting = [start], [start]
    while waiting:
        for node in leading[waiting.pop()]:
            if node not in found:
                found.add(node)
                part.append(node)
                waiting.append(node)
    return part


def shortest_way_round(edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """A shortest circle in a knot, from its first streamlet by name; of circles of one length the first such.

    Arguments:
        edges: all of the knot.
    """
    following: dict[Node, list[Edge]] = defaultdict(list)
    for edge in edges:
        following[edge.source].append(edge)
    search = _Search(following)
    for start in sorted(node for node in following if node.kind == "streamlet"):
        search.from_streamlet(start)
        if search.steps > _MOST_STEPS or len(search.best) == 2:
            break
    return tuple(search.best)


class _Search:
    """Searches in breadth from one streamlet after the other, each no further than a shorter circle would go."""

    def __init__(self, following: Mapping[Node, Sequence[Edge]]) -> None:
        self.best: list[Edge] = []
        self.steps = 0
        self._following = following
        self._done: set[Node] = set()

    def from_streamlet(self, start: Node) -> None:
        """Take a circle through `start` when it is shorter; later searches leave the streamlet out."""
        came: dict[Node, Edge] = {}
        level, length = [start], 1
        while level and (not self.best or length < len(self.best)):
            deeper = []
            for node in level:
                for edge in self._following.get(node, ()):
                    self.steps += 1
                    if edge.target == start:
                        self.best = _way(edge, came, start)
                        self._done.add(start)
                        return
                    if edge.target not in came and edge.target not in self._done:
                        came[edge.target] = edge
                        deeper.append(edge.target)
            level, length = deeper, length + 1
        self._done.add(start)


def _way(last: Edge, came: Mapping[Node, Edge], start: Node) -> list[Edge]:
    way = [last]
    while way[-1].source != start:
        way.append(came[way[-1].source])
    return way[::-1]
