"""The application as a graph of streamlets and topics: order, reachability, cycles."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from blueprint import drawing
from blueprint.diagnostics import Span

if TYPE_CHECKING:
    import networkx as nx


_SHORTEST = 2
"""The length of a cycle of one streamlet and one topic; none is shorter."""
_MOST_SEARCHED = 50_000
"""In a huge component, the search for a shorter cycle ends after so many nodes."""


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
    """Streamlets that feed each other.

    Arguments:
        path: a shortest cycle, from its first streamlet by name.
        further: the number of edges of the strongly connected component that are not on it.
    """

    path: tuple[Edge, ...]
    further: int


@dataclass(frozen=True, slots=True)
class ApplicationGraph:
    """Streamlets and topics, and the ports that join them; edges in the order of the blueprint."""

    streamlets: tuple[str, ...]
    topics: tuple[str, ...]
    edges: tuple[Edge, ...]

    def networkx(self) -> nx.MultiDiGraph[Node]:
        """Return the graph for networkx. Nodes are `Node`s; the attribute `edge` of each edge is its `Edge`."""
        import networkx as nx

        graph: nx.MultiDiGraph[Node] = nx.MultiDiGraph()
        graph.add_nodes_from(self._nodes())
        graph.add_edges_from((edge.source, edge.target, {"edge": edge}) for edge in self.edges)
        return graph

    def picture(
        self, name: str = "", *, classes: Mapping[str, str] = MappingProxyType({}), faulty: Collection[str] = (),
        stops: Collection[str] = (), fused: Collection[str] = (),
    ) -> drawing.Picture:  # fmt: skip
        """Return the graph as something to draw.

        Arguments:
            name: the title.
            classes: the known classes of streamlets by name.
            faulty: the streamlets to mark.
            stops: the streamlets that stop cycles; their outlets that lead back to them are ways back.
            fused: the topics that are fused, which their labels show.
        """
        nodes = [
            drawing.Node(f"streamlet {ref}", "streamlet", ref, classes.get(ref, ""), ref in faulty)
            for ref in self.streamlets
        ]
        nodes += [
            drawing.Node(f"topic {topic}", "topic", f"{topic} (fused)" if topic in fused else topic)
            for topic in self.topics
        ]
        back = set(self.ways_back(stops))
        edges = [
            drawing.Edge(
                f"{edge.source.kind} {edge.source.name}", f"{edge.target.kind} {edge.target.name}", edge.port,
                edge in back,
            )
            for edge in self.edges
        ]  # fmt: skip
        return drawing.Picture(name, tuple(nodes), tuple(edges))

    def _repr_svg_(self) -> str:
        """Return the drawing for a notebook."""
        from blueprint.drawing.svg import svg

        return svg(self.picture())

    def order(self) -> tuple[str, ...]:
        """Return all streamlets in topological order, ties by name; those in or after cycles are last, by name."""
        sorted_nodes, unsorted = self._sort()
        names = [node.name for node in sorted_nodes if node.kind == "streamlet"]
        return (*names, *sorted(node.name for node in unsorted if node.kind == "streamlet"))

    def reachable(self, starts: set[Node]) -> set[Node]:
        """Return every node on a path from one of `starts`, including these."""
        following = defaultdict(list)
        for edge in self.edges:
            following[edge.source].append(edge.target)
        reached, unvisited = set(starts), list(starts)
        while unvisited:
            for node in following[unvisited.pop()]:
                if node not in reached:
                    reached.add(node)
                    unvisited.append(node)
        return reached

    def without(self, streamlets: Container[str]) -> ApplicationGraph:
        """Return the graph without some streamlets and their connections; it keeps all topics."""
        removed = {Node("streamlet", ref) for ref in self.streamlets if ref in streamlets}
        return ApplicationGraph(
            tuple(ref for ref in self.streamlets if ref not in streamlets),
            self.topics,
            tuple(edge for edge in self.edges if edge.source not in removed and edge.target not in removed),
        )

    def cyclic_components(self) -> tuple[tuple[Node, ...], ...]:
        """Return the strongly connected components with more than one node, each sorted, by their first node."""
        _, unsorted = self._sort()
        return _components(self._digraph(unsorted)) if unsorted else ()

    def ways_back(self, streamlets: Container[str]) -> tuple[Edge, ...]:
        """Return the outlets of some streamlets whose topics lead back to them."""
        if not any(ref in streamlets for ref in self.streamlets):
            return ()
        component_of = {node: number for number, nodes in enumerate(self.cyclic_components()) for node in nodes}
        return tuple(
            edge
            for edge in self.edges
            if edge.source.kind == "streamlet"
            and edge.source.name in streamlets
            and component_of.get(edge.source, -1) == component_of.get(edge.target, -2)
        )

    def cycles(self) -> tuple[Cycle, ...]:
        """Return a shortest cycle of each strongly connected component."""
        _, unsorted = self._sort()
        if not unsorted:
            return ()
        graph = self._digraph(unsorted)
        components = _components(graph)
        component_of = {node: number for number, nodes in enumerate(components) for node in nodes}
        inside = Counter(
            number
            for edge in self.edges
            if (number := component_of.get(edge.source, -1)) == component_of.get(edge.target, -2)
        )
        paths = (_shortest_cycle(graph, nodes) for nodes in components)
        return tuple(Cycle(path, inside[number] - len(path)) for number, path in enumerate(paths))

    def _digraph(self, nodes: Iterable[Node]) -> nx.DiGraph[Node]:
        """Return the graph of some nodes, of parallel edges with the first, as the attribute `edge`."""
        import networkx as nx  # slow to import, and only needed for a blueprint with a cycle

        graph: nx.DiGraph[Node] = nx.DiGraph()
        graph.add_nodes_from(nodes)
        for edge in self.edges:
            if edge.source in graph and edge.target in graph and not graph.has_edge(edge.source, edge.target):
                graph.add_edge(edge.source, edge.target, edge=edge)
        return graph

    def _nodes(self) -> list[Node]:
        return [*(Node("streamlet", ref) for ref in self.streamlets), *(Node("topic", id) for id in self.topics)]

    def _sort(self) -> tuple[list[Node], list[Node]]:
        """Return nodes in topological order, and those without one, which are in or after cycles."""
        following: dict[Node, list[Node]] = defaultdict(list)
        in_degrees = dict.fromkeys(self._nodes(), 0)
        for edge in self.edges:
            following[edge.source].append(edge.target)
            in_degrees[edge.target] += 1
        ready = [node for node, degree in in_degrees.items() if degree == 0]
        heapq.heapify(ready)
        sorted_nodes = []
        while ready:
            node = heapq.heappop(ready)
            sorted_nodes.append(node)
            for target in following[node]:
                in_degrees[target] -= 1
                if in_degrees[target] == 0:
                    heapq.heappush(ready, target)
        return sorted_nodes, [node for node, degree in in_degrees.items() if degree > 0]


def _components(graph: nx.DiGraph[Node]) -> tuple[tuple[Node, ...], ...]:
    import networkx as nx

    components = nx.strongly_connected_components(graph)
    return tuple(sorted(tuple(sorted(nodes)) for nodes in components if len(nodes) > 1))


def _shortest_cycle(graph: nx.DiGraph[Node], nodes: tuple[Node, ...]) -> tuple[Edge, ...]:
    """Return a shortest cycle of a strongly connected component.

    Of several, return the one whose first streamlet comes first.

    One search finds the shortest cycle through a streamlet. Then the streamlet is removed, and the search continues in
    what is still cyclic.
    """
    import networkx as nx

    remaining = graph.subgraph(nodes).copy()
    best: list[Node] = []
    searched = 0
    while searched < _MOST_SEARCHED and len(best) != _SHORTEST and (components := _components(remaining)):
        searched += len(remaining)
        start, component = min((node, nodes) for nodes in components for node in nodes if node.kind == "streamlet")
        members = set(component)
        returns = (nx.shortest_path(remaining, node, start) for node in remaining[start] if node in members)
        path = min(returns, key=len)
        if not best or len(path) < len(best):
            best = [start, *path[:-1]]
        remaining.remove_node(start)
    return tuple(graph.edges[edge]["edge"] for edge in zip(best, [*best[1:], best[0]], strict=True))
