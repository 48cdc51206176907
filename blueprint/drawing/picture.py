"""The content of a drawing as plain data: streamlets, topics and the lines between them. All formats render it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["streamlet", "topic", "group"]
"""A group stands for several streamlets; only the page draws some."""


@dataclass(frozen=True, slots=True)
class Node:
    """A streamlet or a topic.

    Arguments:
        id: unique among all nodes of a picture.
        kind: what it is.
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
    """A line from one node to another.

    Arguments:
        source: where it starts.
        target: where it ends.
        port: the outlet or inlet at its streamlet.
        back: whether it is the way back into a cycle, from the streamlet that stops the cycle.
    """

    source: str
    target: str
    port: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """An application as nodes and edges; an edge connects two different nodes of the picture."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def lines(self) -> tuple[list[tuple[str, str]], set[tuple[str, str]]]:
        """The edges as pairs of nodes, and the pairs that are ways back into a cycle."""
        pairs = [(edge.source, edge.target) for edge in self.edges]
        return pairs, {pair for pair, edge in zip(pairs, self.edges, strict=True) if edge.back}
