"""The layered layout and its terminal drawing: every edge can be followed, and nothing overlaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.drawing import Edge, Node, Picture
from blueprint.drawing.layout import Layout, Line, Size, layout
from blueprint.drawing.packing import packed_layout
from blueprint.drawing.terminal import terminal
from tests.random_examples import examples

Edges = list[tuple[str, str]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, Size], Edges]:
    """Nodes of random sizes, and edges between different ones: chains, fans, cycles and islands alike."""
    count = draw(st.integers(1, 9))
    names = [f"n{index}" for index in range(count)]
    sizes = {name: Size(draw(st.integers(5, 14)), 3, frame=2) for name in names}
    pairs = [(a, b) for a in names for b in names if a != b]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=14, unique=True)) if pairs else []
    return sizes, edges


def rows(sizes: dict[str, Size], edges: Edges) -> Layout:
    """Return a narrow layout, in which parts that are not connected are in several rows."""
    return packed_layout(sizes, edges, widest=30)


LAYOUTS = pytest.mark.parametrize("lay_out", [layout, rows])


def cells(line: Line) -> set[tuple[int, int]]:
    """Return the cells a line covers."""
    return {(x, y) for x in range(line.x1, line.x2 + 1) for y in range(line.y1, line.y2 + 1)}


def box_cells(drawn: Layout, node: str) -> set[tuple[int, int]]:
    """Return the cells a box covers."""
    box = drawn.boxes[node]
    return {(x, y) for x in range(box.x, box.x + box.width) for y in range(box.y, box.y + box.height)}


@LAYOUTS
@given(graphs())
@settings(max_examples=examples(300), deadline=None)
def test_boxes_never_overlap_and_lie_inside_the_drawing(
    lay_out: Callable[[dict[str, Size], Edges], Layout], graph: tuple[dict[str, Size], Edges]
) -> None:
    """No two boxes share a cell, and none sticks out."""
    drawn = lay_out(*graph)
    for node, other in combinations(drawn.boxes, 2):
        assert not box_cells(drawn, node) & box_cells(drawn, other)
    for node in drawn.boxes:
        assert all(0 <= x < drawn.width and 0 <= y < drawn.height for x, y in box_cells(drawn, node))


@LAYOUTS
@given(graphs())
@settings(max_examples=examples(300), deadline=None)
def test_wires_keep_out_of_boxes_and_only_cross_each_other(
    lay_out: Callable[[dict[str, Size], Edges], Layout], graph: tuple[dict[str, Size], Edges]
) -> None:
    """A wire touches no box but those it joins, at their rim; two wires never run along the same cells."""
    drawn = lay_out(*graph)
    runs: dict[tuple[tuple[int, int], bool], int] = {}
    for number, wire in enumerate(drawn.wires):
        joined = {wire.source, *(tip.node for tip in wire.tips)} if not wire.upward else set(drawn.boxes)
        for line in wire.lines:
            for node in drawn.boxes:
                shared = cells(line) & box_cells(drawn, node)
                assert not shared or (node in joined and len(shared) == 1)
            for cell in cells(line) if (line.x1, line.y1) != (line.x2, line.y2) else ():
                across = line.y1 == line.y2
                assert runs.setdefault((cell, across), number) == number


@given(graphs())
@settings(max_examples=examples(300), deadline=None)
def test_forward_edges_lead_to_their_targets(graph: tuple[dict[str, Size], Edges]) -> None:
    """The tips of all wires, taken together, are exactly the edges; an upward wire's tip is where its edge ends."""
    sizes, edges = graph
    drawn = layout(sizes, edges)
    assert sorted((wire.source, tip.node) for wire in drawn.wires for tip in wire.tips) == sorted(edges)


def picture(sizes: dict[str, Size], edges: Edges) -> Picture:
    """Return the graph with every node a streamlet."""
    return Picture("p", tuple(Node(name, "streamlet", name) for name in sizes), tuple(Edge(a, b) for a, b in edges))


UP, DOWN, LEFT, RIGHT = (0, -1), (0, 1), (-1, 0), (1, 0)
WAYS = {
    "│": {UP, DOWN}, "─": {LEFT, RIGHT}, "┌": {DOWN, RIGHT}, "┐": {DOWN, LEFT}, "└": {UP, RIGHT}, "┘": {UP, LEFT},
    "├": {UP, DOWN, RIGHT}, "┤": {UP, DOWN, LEFT}, "┬": {DOWN, LEFT, RIGHT}, "┴": {UP, LEFT, RIGHT},
    "┼": {UP, DOWN, LEFT, RIGHT}, "▼": {UP, DOWN}, "▲": {UP, DOWN},
}  # fmt: skip
BACK = {UP: DOWN, DOWN: UP, LEFT: RIGHT, RIGHT: LEFT}


def followed(text: str) -> Edges:
    """Read the edges off a drawing as a person would: out of a frame at its joints, along the lines, to the arrows.

    A vertical line through a horizontal one is a crossing: the horizontal line continues straight on.
    """
    rows = text.split("\n")
    at = {(x, y): character for y, row in enumerate(rows) for x, character in enumerate(row)}
    owner: dict[tuple[int, int], str] = {}
    for y, row in enumerate(rows):
        x = 0
        while (left := row.find("│ ", x)) >= 0 and (right := row.find(" │", left + 2)) >= 0:
            name = row[left + 1 : right + 1].strip()
            if name and " " not in name and name[0] == "n":
                for column in range(left, right + 2):
                    owner |= dict.fromkeys(((column, y - 1), (column, y), (column, y + 1)), name)
                x = right + 2
            else:
                x = left + 1
    found: Edges = []
    for (x, y), character in at.items():
        if (x, y) not in owner or character not in "┬┴":
            continue
        start = DOWN if character == "┬" else UP
        beyond = (x + start[0], y + start[1])
        if owner.get((x, y - start[1])) != owner[x, y] or (
            at.get(beyond) in ("▲", "▼") and ((start == DOWN) == (at[beyond] == "▲"))
        ):
            continue  # the joint in a frame's rim, or an arrow that comes in here
        found += [(owner[x, y], target) for target in _targets(at, owner, beyond, start)]
    return found


def _targets(
    at: dict[tuple[int, int], str], owner: dict[tuple[int, int], str], spot: tuple[int, int], way: tuple[int, int]
) -> list[str]:
    here = at[spot]
    onwards = [way] if way not in {BACK[each] for each in WAYS[here]} or (here == "│" and way in (LEFT, RIGHT)) else [
        each for each in WAYS[here] if each != BACK[way]
    ]  # fmt: skip
    found: list[str] = []
    for each in onwards:
        following = (spot[0] + each[0], spot[1] + each[1])
        if following in owner:
            assert here == ("▼" if each == DOWN else "▲"), "a line ends at a box without an arrow"
            found.append(owner[following])
        else:
            found += _targets(at, owner, following, each)
    return found


@given(graphs())
@settings(max_examples=examples(300), deadline=None)
def test_every_edge_can_be_read_off_the_drawn_characters(graph: tuple[dict[str, Size], Edges]) -> None:
    """Following the drawn lines from box to box finds every edge once, and no other."""
    sizes, edges = graph
    assert sorted(followed(terminal(picture(sizes, edges)))) == sorted(edges)


@given(graphs())
@settings(max_examples=examples(50), deadline=None)
def test_the_drawing_is_the_same_every_time(graph: tuple[dict[str, Size], Edges]) -> None:
    """Drawing is deterministic, so drawings can be kept in files and compared."""
    sizes, edges = graph
    assert terminal(picture(sizes, edges)) == terminal(picture(dict(sizes), list(edges)))


def test_lines_that_would_swap_places_are_split() -> None:
    """Two edges that would each have to be above the other are both drawn."""
    from blueprint.drawing.wires import Strand, route

    routed, tracks = route([Strand("a", 0, (4,)), Strand("b", 4, (0,))])
    assert len(routed) == 3
    assert tracks == 3


def test_acyclic_graphs_only_go_down() -> None:
    """Without a cycle every box is above its successors, and sources are directly above their readers."""
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("late", "d")]
    drawn = layout({name: Size(7, 3, frame=2) for name in ("a", "b", "c", "d", "late")}, edges)
    depth = defaultdict(int, {node: box.y for node, box in drawn.boxes.items()})
    assert all(depth[a] < depth[b] for a, b in edges)
    assert depth["late"] == depth["c"]
    assert not any(wire.upward for wire in drawn.wires)


def test_parts_that_are_not_connected_are_in_rows() -> None:
    """As many in a row as fit; one that is too wide has a row of its own, and a graph that fits stays as it is."""
    pairs = {f"{side}{number}": Size(10, 3) for number in range(5) for side in ("a", "b")}
    edges = [(f"a{number}", f"b{number}") for number in range(5)]
    drawn = packed_layout(pairs, edges, widest=36)
    tops = [drawn.boxes[f"a{number}"].y for number in range(5)]
    assert tops[0] == tops[1] == tops[2] < tops[3] == tops[4]
    assert drawn.width <= 36
    assert drawn.height == max(box.y + box.height for box in drawn.boxes.values())
    assert packed_layout(pairs, edges, widest=100) == layout(pairs, edges)
    wide = packed_layout({"w": Size(50, 3), "x": Size(10, 3), "y": Size(10, 3)}, [], widest=36)
    assert [wide.boxes[node].y for node in "wxy"] == [0, 5, 5]
