"""Mermaid, DOT, GraphML, JSON and the terminal: names with special characters, ports, faults, wide drawings."""

from __future__ import annotations

import json as json_module
import re
from typing import Any

import networkx as nx

from blueprint.drawing import Edge, Node, Picture
from blueprint.drawing.dot import dot
from blueprint.drawing.graphml import graphml
from blueprint.drawing.json import json
from blueprint.drawing.mermaid import mermaid
from blueprint.drawing.terminal import terminal

PICTURE = Picture(
    "app",
    (
        Node("s a", "streamlet", 'say "hi" <b>', "x.A", faulty=True),
        Node("t t", "topic", "readings"),
        Node("s b", "streamlet", "b", "x.B"),
    ),
    (Edge("s a", "t t", "out"), Edge("t t", "s b", "in")),
)


def test_mermaid_escapes_names_and_names_ports() -> None:
    """Quotes and angle brackets are entities, ports are labels of the lines, faults have their own class."""
    text = mermaid(PICTURE)
    assert text.startswith("flowchart TD\n")
    assert 'n0["say #quot;hi#quot; #lt;b#gt;"]' in text
    assert 'n0 -->|"out"| n1' in text
    assert "class n0 faulty" in text


def test_dot_quotes_names() -> None:
    """The text has all nodes and edges, with escaped quotes."""
    text = dot(PICTURE)
    assert '"s a" [label="say \\"hi\\" <b>", shape=box, color=red, style=dashed, tooltip="x.A"]' in text
    assert '"t t" -> "s b" [headlabel="in"]' in text
    assert text.count("{") == text.count("}") == 1


def test_graphml_is_read_by_networkx() -> None:
    """The graph has all nodes and parallel edges with their attributes, whatever characters names have."""
    odd = Node("s c", "streamlet", "c\x00\x1b\ud800é")
    parallel = (*PICTURE.edges, Edge("t t", "s b", "again"))
    graph: nx.Graph[Any] = nx.parse_graphml(graphml(Picture("app", (*PICTURE.nodes, odd), parallel)))
    assert graph.graph["name"] == "app"
    assert graph.nodes["s a"] == {"kind": "streamlet", "name": 'say "hi" <b>', "detail": "x.A", "faulty": "true"}
    assert graph.nodes["s c"]["name"] == "c\ufffd\ufffd\ufffdé"
    edges = [(source, target, data["port"]) for source, target, data in graph.edges(data=True)]
    assert edges == [("s a", "t t", "out"), ("t t", "s b", "in"), ("t t", "s b", "again")]


def test_json_holds_the_whole_picture() -> None:
    """The JSON has all nodes and edges."""
    data = json_module.loads(json(PICTURE))
    assert [node["id"] for node in data["nodes"]] == ["s a", "t t", "s b"]
    assert data["edges"][0] == {"source": "s a", "target": "t t", "port": "out", "back": False}


def test_a_chain_is_drawn_straight() -> None:
    """Boxes below each other, joined by straight lines, topics written on them; a fault has a dashed frame."""
    assert terminal(PICTURE).split("\n") == [
        "┌┄┄┄┄┄┄┄┄┄┄┄┄┄┄┐",
        '┆ say "hi" <b> ┆',
        "└┄┄┄┄┄┄┄┬┄┄┄┄┄┄┘",
        "        │",
        "    readings",
        "        ▼",
        "      ┌───┐",
        "      │ b │",
        "      └───┘",
    ]


def test_a_drawing_that_is_too_wide_is_replaced_by_an_outline() -> None:
    """The outline has all connections, and shows the width of the drawing."""
    text = terminal(PICTURE, width=10)
    assert "  > readings > b" in text
    assert re.search(r"the drawing needs 16 columns, the terminal has 10", text)


def test_an_empty_application_says_so() -> None:
    """No nodes, no drawing, no crash."""
    assert "nothing to draw" in terminal(Picture("app", (), ()))


def test_wide_characters_keep_frames_closed() -> None:
    """A name of double-width characters fits its frame."""
    drawn = terminal(Picture("app", (Node("s", "streamlet", "温度計"),), ()))
    assert drawn.split("\n") == ["┌────────┐", "│ 温度計 │", "└────────┘"]
