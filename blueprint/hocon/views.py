"""Nodes of the tree as seen from where they are looked at: what looking up gives, and values are built from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blueprint.diagnostics import Span
from blueprint.hocon.tree import Definition, Node, ObjectNode, Substitution

Step = tuple[Definition, Substitution]
"""A substitution that was followed, and the definition it belongs to."""


class Failed:
    """Stands for a value that cannot be had, and was reported."""


@dataclass(slots=True, eq=False)
class View:
    """A node as seen from where it is looked at.

    Arguments:
        node: what stands in the text.
        definition: the definition whose whole value it is, or is part of.
        steps: the substitutions followed to get here; their definitions are left out of every further look-up.
        via: the first substitution followed, as seen from the value that is being built.
    """

    node: Node | Items | Failed
    definition: Definition | None = None
    steps: tuple[Step, ...] = ()
    via: Span | None = None


Stack = Sequence[View]


@dataclass(slots=True, eq=False)
class Items:
    """A list put together from others: the stack of each item."""

    stacks: list[Stack]
    span: Span


def children(views: Stack, key: str) -> list[View]:
    """The stack of a key below objects in force (newest first), each child a value of its own: it follows no chain."""
    return [
        View(one.node, one, (), view.via)
        for view in reversed(views)
        if isinstance(view.node, ObjectNode)
        for one in view.node.fields.get(key, ())
    ]
