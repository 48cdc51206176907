"""What is drawn: streamlets, topics and the lines between them, as plain data. Every format reads only this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["streamlet", "topic"]


@dataclass(frozen=True, slots=True)
class Node:
    """A streamlet or a topic.

    Arguments:
        id: unique among all nodes of a picture.
        kind: what it is.
        name: what is written on it.
        detail: more about it (a streamlet's class, a topic's channel); formats with room show it.
        faulty: whether verification found an error that concerns it.
    """

    id: str
    kind: Kind
    name: str
    detail: str = ""
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one node to another; `port` is the outlet or inlet it leaves or enters by."""

    source: str
    target: str
    port: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An application as nodes and edges; edges join nodes of the picture, never a node with itself."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
