"""The results of look-ups, from which values are built: nodes of the tree with the way that led to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blueprint.diagnostics import Span
from blueprint.hocon.tree import Definition, Node, ObjectNode, Substitution

Step = tuple[Definition, Substitution]
"""A followed substitution and the definition that it belongs to."""


class Failed:
    """A value that could not be determined, and was reported."""


@dataclass(slots=True, eq=False)
class View:
    """A node with the way on which a look-up reached it.

    Arguments:
        node: the node as written.
        definition: the definition whose value, or part of it, the node is.
        steps: the substitutions followed to reach the node. Every further look-up ignores their definitions.
        via: the first substitution that was followed from the value that is being built.
    """

    node: Node | Items | Failed
    definition: Definition | None = None
    steps: tuple[Step, ...] = ()
    via: Span | None = None


Stack = Sequence[View]


@dataclass(slots=True, eq=False)
class Items:
    """A list composed of others: the stack of each item."""

    stacks: list[Stack]
    span: Span


def children(views: Stack, key: str) -> list[View]:
    """Return the stack of a key in effective objects (newest first); the look-ups of its views begin from scratch."""
    return [
        View(definition.node, definition, (), view.via)
        for view in reversed(views)
        if isinstance(view.node, ObjectNode)
        for definition in view.node.fields.get(key, ())
    ]
