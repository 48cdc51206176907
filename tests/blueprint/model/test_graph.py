"""Order, reachability and cycles of the graph of streamlets and topics."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx

from blueprint.diagnostics import Span
from blueprint.model.graph import ApplicationGraph, Edge, Node

HERE = Span("blueprint.conf", 1, 1, 1, 2)


def graph(*wires: str) -> ApplicationGraph:
    """Return a graph of wires such as `a>t` (streamlet a writes topic t) and `t<b` (b reads t)."""
    edges: list[Edge] = []
    streamlets: dict[str, None] = {}
    topics: dict[str, None] = {}
    for wire in wires:
        writes = ">" in wire
        left, right = wire.split(">" if writes else "<")
        streamlet, topic = (left, right) if writes else (right, left)
        streamlets[streamlet], topics[topic] = None, None
        ends = Node("streamlet", streamlet), Node("topic", topic)
        edges.append(Edge(*(ends if writes else ends[::-1]), "port", HERE))
    return ApplicationGraph(tuple(streamlets), tuple(topics), tuple(edges))


def test_producers_come_first_and_ties_by_name() -> None:
    """The order is a topological one, as a bounded run needs it, and always the same."""
    assert graph("c>t", "t<b", "t<a", "b>u", "u<d").order() == ("c", "a", "b", "d")


def test_streamlets_in_cycles_come_last() -> None:
    """A cycle has no topological order; its streamlets follow the others, by name."""
    assert graph("z>t", "t<y", "b>u", "u<a", "a>v", "v<b").order() == ("z", "y", "a", "b")


def test_a_diamond_is_not_a_cycle() -> None:
    """Two paths from one streamlet to another have the same direction."""
    assert graph("a>t", "t<b", "t<c", "b>u", "c>u", "u<d").cycles() == ()


def test_each_component_has_one_shortest_cycle() -> None:
    """Of two strongly connected components, the first has a long and a short cycle; the short one is returned."""
    cycles = graph("a>t", "t<b", "b>u", "u<a", "b>v", "v<c", "c>w", "w<a", "p>x", "x<p").cycles()
    assert [[str(edge.source) for edge in cycle.path] for cycle in cycles] == [["a", "t", "b", "u"], ["p", "x"]]
    assert [cycle.further for cycle in cycles] == [4, 0]


def test_streamlets_after_a_cycle_are_not_a_part_of_it() -> None:
    """The path has the streamlets of the cycle only."""
    (cycle,) = graph("a>t", "t<b", "b>u", "u<a", "b>v", "v<c").cycles()
    assert {edge.source.name for edge in cycle.path} == {"a", "t", "b", "u"}


def test_reachable_nodes() -> None:
    """Every node downstream is reachable, and the starts are."""
    nodes = graph("a>t", "t<b", "c>u", "u<d").reachable({Node("streamlet", "a")})
    assert {node.name for node in nodes} == {"a", "t", "b"}


def test_cycles_agree_with_networkx() -> None:
    """On random graphs, each strongly connected component has one cycle, and no shorter one."""
    chance = random.Random(3)
    for _ in range(150):
        names = "abcdefg"[: chance.randint(2, 7)]
        wires = {f"{chance.choice(names)}>t{chance.randrange(4)}" for _ in range(chance.randint(1, 8))}
        wires |= {f"t{chance.randrange(4)}<{chance.choice(names)}" for _ in range(chance.randint(1, 8))}
        random_graph = graph(*sorted(wires))
        plain: nx.DiGraph[Any] = nx.DiGraph(random_graph.networkx())
        components = [nodes for nodes in nx.strongly_connected_components(plain) if len(nodes) > 1]
        cycles = random_graph.cycles()
        assert len(cycles) == len(components)
        for cycle in cycles:
            members = {edge.source for edge in cycle.path}
            component = next(nodes for nodes in components if nodes >= members)
            steps = zip(cycle.path, cycle.path[1:] + cycle.path[:1], strict=True)
            assert all(edge.target == following.source for edge, following in steps)
            assert len(cycle.path) == min(map(len, nx.simple_cycles(plain.subgraph(component))))


def test_a_huge_cycle() -> None:
    """A ring of 5,000 streamlets is one cycle, which is found without recursion."""
    count = 5_000
    wires = [wire for at in range(count) for wire in (f"s{at}>t{at}", f"t{at}<s{(at + 1) % count}")]
    (cycle,) = graph(*wires).cycles()
    assert len(cycle.path) == 2 * count


def test_without_streamlets() -> None:
    """Their connections are removed, all topics are kept."""
    smaller = graph("a>t", "t<b", "b>u").without({"b"})
    assert smaller.streamlets == ("a",)
    assert smaller.topics == ("t", "u")
    assert [edge.source.name for edge in smaller.edges] == ["a"]


def test_the_way_back_is_what_leads_to_the_streamlet_again() -> None:
    """Of the outlets of a streamlet that stops a cycle, those whose topics lead elsewhere are not ways back."""
    wires = graph("feed>t", "t<a", "a>u", "u<retry", "retry>t", "retry>left", "left<desk", "b>v", "v<b")
    assert [(str(edge.source), str(edge.target)) for edge in wires.ways_back({"retry"})] == [("retry", "t")]
    assert [str(edge.target) for edge in wires.ways_back({"b", "feed", "desk"})] == ["v"]
    back = [(edge.source, edge.target) for edge in wires.picture(stops={"retry"}).edges if edge.back]
    assert back == [("streamlet retry", "topic t")]
