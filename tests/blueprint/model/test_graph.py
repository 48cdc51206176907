"""Order, reachability and cycles of the graph of streamlets and topics."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx

from blueprint.diagnostics import Span
from blueprint.model.graph import ApplicationGraph, Edge, Node

HERE = Span("blueprint.conf", 1, 1, 1, 2)


def graph(*wires: str) -> ApplicationGraph:
    """A graph of wires such as `a>t` (streamlet a writes topic t) and `t<b` (b reads t)."""
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
    """The order is one that a bounded run can follow, and always the same."""
    assert graph("c>t", "t<b", "t<a", "b>u", "u<d").order() == ("c", "a", "b", "d")


def test_knotted_streamlets_come_last() -> None:
    """A circle has no order; its streamlets follow the others by name."""
    assert graph("z>t", "t<y", "b>u", "u<a", "a>v", "v<b").order() == ("z", "y", "a", "b")


def test_a_diamond_is_no_circle() -> None:
    """A diamond is no circle."""
    assert graph("a>t", "t<b", "t<c", "b>u", "c>u", "u<d").cycles() == ()


def test_each_knot_is_told_once_with_a_shortest_way_round() -> None:
    """Two knots; the first has a long and a short way round, and the short one is told."""
    knots = graph("a>t", "t<b", "b>u", "u<a", "b>v", "v<c", "c>w", "w<a", "p>x", "x<p").cycles()
    assert [[str(edge.source) for edge in knot.path] for knot in knots] == [["a", "t", "b", "u"], ["p", "x"]]
    assert [knot.further for knot in knots] == [4, 0]


def test_what_follows_a_knot_is_no_part_of_it() -> None:
    """Only the streamlets of the circle are told."""
    (knot,) = graph("a>t", "t<b", "b>u", "u<a", "b>v", "v<c").cycles()
    assert {edge.source.name for edge in knot.path} == {"a", "t", "b", "u"}


def test_reachable_nodes() -> None:
    """Everything downstream, with the starts."""
    found = graph("a>t", "t<b", "c>u", "u<d").reachable({Node("streamlet", "a")})
    assert {node.name for node in found} == {"a", "t", "b"}


def test_cycles_agree_with_networkx() -> None:
    """On random graphs there is one cycle for each strongly connected component, and no shorter one in it."""
    chance = random.Random(3)
    for _ in range(150):
        names = "abcdefg"[: chance.randint(2, 7)]
        wires = {f"{chance.choice(names)}>t{chance.randrange(4)}" for _ in range(chance.randint(1, 8))}
        wires |= {f"t{chance.randrange(4)}<{chance.choice(names)}" for _ in range(chance.randint(1, 8))}
        made = graph(*sorted(wires))
        plain: nx.DiGraph[Any] = nx.DiGraph(made.networkx())
        knots = [part for part in nx.strongly_connected_components(plain) if len(part) > 1]
        cycles = made.cycles()
        assert len(cycles) == len(knots)
        for cycle in cycles:
            members = {edge.source for edge in cycle.path}
            knot = next(part for part in knots if part >= members)
            steps = zip(cycle.path, cycle.path[1:] + cycle.path[:1], strict=True)
            assert all(one.target == two.source for one, two in steps)
            assert len(cycle.path) == min(map(len, nx.simple_cycles(plain.subgraph(knot))))


def test_a_huge_knot_is_told_at_once() -> None:
    """A ring of 5,000 streamlets is one circle, and does not recurse."""
    count = 5_000
    wires = [wire for at in range(count) for wire in (f"s{at}>t{at}", f"t{at}<s{(at + 1) % count}")]
    (knot,) = graph(*wires).cycles()
    assert len(knot.path) == 2 * count


def test_without_streamlets() -> None:
    """Their connections go with them, topics stay."""
    left = graph("a>t", "t<b", "b>u").without({"b"})
    assert left.streamlets == ("a",)
    assert left.topics == ("t", "u")
    assert [edge.source.name for edge in left.edges] == ["a"]
