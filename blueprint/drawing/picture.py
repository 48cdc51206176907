"""The content of a drawing as plain data: streamlets, topics and the lines between them. All formats render it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["streamlet", "topic"]


@dataclass(frozen=True, slots=True)
class Node:
    """A streamlet or a topic.

    Arguments:
        id: unique among all nodes of a picture.
        kind: streamlet or topic.
        name: the label.
        detail: additional text (a streamlet's class, a topic's channel), which some formats show.
        faulty: whether verification reported an error about it.
    """

    id: str
    kind: Kind
    name: str
    detail: str = ""
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one node to another; `port` is the outlet or inlet at its streamlet."""

    source: str
    target: str
    port: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An application as nodes and edges; an edge connects two different nodes of the picture."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
