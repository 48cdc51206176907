"""The application as a graph of streamlets and topics: order, reachability, cycles."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from blueprint.circles import components, shortest_way_round
from blueprint.diagnostics import Span

if TYPE_CHECKING:
    import networkx as nx


class Node(NamedTuple):
    """A streamlet (by its name in the blueprint) or a topic (by its id)."""

    kind: Literal["streamlet", "topic"]
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Edge:
    """A port of a streamlet on a topic: from the streamlet when it is an outlet, to it when it is an inlet."""

    source: Node
    target: Node
    port: str
    span: Span


@dataclass(frozen=True, slots=True)
class Cycle:
    """Streamlets that feed each other: one shortest way round, and how many edges of the knot are not on it."""

    path: tuple[Edge, ...]
    further: int


@dataclass(frozen=True, slots=True)
class ApplicationGraph:
    """Streamlets and topics, and the ports that join them; edges in the order of the blueprint."""

    streamlets: tuple[str, ...]
    topics: tuple[str, ...]
    edges: tuple[Edge, ...]

    def networkx(self) -> nx.MultiDiGraph[Node]:
        """The same as a networkx graph; each edge carries its `Edge` as the attribute `edge`."""
        import networkx as nx

        graph: nx.MultiDiGraph[Node] = nx.MultiDiGraph()
        graph.add_nodes_from(self._nodes())
        graph.add_edges_from((edge.source, edge.target, {"edge": edge}) for edge in self.edges)
        return graph

    def order(self) -> tuple[str, ...]:
        """All streamlets, producers first, ties by name; those in cycles come last, by name."""
        sorted_nodes, knotted = self._sort()
        names = [node.name for node in sorted_nodes if node.kind == "streamlet"]
        return (*names, *sorted(node.name for node in knotted if node.kind == "streamlet"))

    def reachable(self, starts: set[Node]) -> set[Node]:
        """Every node that some way leads to from `starts`, these included."""
        following = defaultdict(list)
        for edge in self.edges:
            following[edge.source].append(edge.target)
        found, waiting = set(starts), list(starts)
        while waiting:
            for node in following[waiting.pop()]:
                if node not in found:
                    found.add(node)
                    waiting.append(node)
        return found

    def without(self, streamlets: Container[str]) -> ApplicationGraph:
        """The same graph without these streamlets and their connections; topics stay."""
        gone = {Node("streamlet", ref) for ref in self.streamlets if ref in streamlets}
        return ApplicationGraph(
            tuple(ref for ref in self.streamlets if ref not in streamlets),
            self.topics,
            tuple(edge for edge in self.edges if edge.source not in gone and edge.target not in gone),
        )

    def knots(self) -> tuple[tuple[Node, ...], ...]:
        """Each strongly connected component with a way round, sorted; knots by their first node."""
        _, knotted = self._sort()
        return components(knotted, self.edges) if knotted else ()

    def cycles(self) -> tuple[Cycle, ...]:
        """One shortest way round for each knot."""
        knots = self.knots()
        knot_of = {node: number for number, knot in enumerate(knots) for node in knot}
        inside: list[list[Edge]] = [[] for _ in knots]
        for edge in self.edges:
            number = knot_of.get(edge.source)
            if number is not None and knot_of.get(edge.target) == number:
                inside[number].append(edge)
        ways = map(shortest_way_round, inside)
        return tuple(Cycle(way, len(edges) - len(way)) for way, edges in zip(ways, inside, strict=True))

    def _nodes(self) -> list[Node]:
        return [*(Node("streamlet", ref) for ref in self.streamlets), *(Node("topic", id) for id in self.topics)]

    def _sort(self) -> tuple[list[Node], list[Node]]:
        """Nodes in topological order, and those that have none because they are in cycles or behind them."""
        following: dict[Node, list[Node]] = defaultdict(list)
        awaited = dict.fromkeys(self._nodes(), 0)
        for edge in self.edges:
            following[edge.source].append(edge.target)
            awaited[edge.target] += 1
        ready = [node for node, count in awaited.items() if count == 0]
        heapq.heapify(ready)
        done = []
        while ready:
            node = heapq.heappop(ready)
            done.append(node)
            for target in following[node]:
                awaited[target] -= 1
                if awaited[target] == 0:
                    heapq.heappush(ready, target)
        return done, [node for node, count in awaited.items() if count > 0]
