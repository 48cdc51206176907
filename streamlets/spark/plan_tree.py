"""A query's analyzed plan as Spark prints it, read back into nodes: one call into the JVM instead of one per node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINE = re.compile(r"^(?P<indent>[ :|]*(?:[+:]- )?)(?P<marks>[~'!]*)(?P<name>[A-Za-z]\w*)(?P<rest>.*)$")
_WATERMARKED = re.compile(r"#\d+L?-T\d+ms")


@dataclass(slots=True)
class PlanNode:
    """One operator of a plan.

    Arguments:
        name: such as `Aggregate`; rest: what stands behind it.
        depth: its distance from the root in the print's columns.
    """

    name: str
    rest: str
    depth: int
    children: list[PlanNode] = field(default_factory=list)

    @property
    def streaming(self) -> bool:
        """Whether it works on a stream."""
        return any(node.name.startswith("StreamingRelation") for node in self.all())

    def all(self) -> Iterator[PlanNode]:
        """Itself and all below it, from above."""
        yield self
        for child in self.children:
            yield from child.all()


def plan_tree(frame: DataFrame) -> PlanNode:
    """The analyzed plan of a frame."""
    return parse_tree(str(frame._jdf.queryExecution().analyzed().treeString()))  # noqa: SLF001 - Spark has no public way


def parse_tree(text: str) -> PlanNode:
    """The nodes of a plan's print; lines that are none (texts with line ends in them) are passed over."""
    root, path = PlanNode("", "", -1), list[PlanNode]()
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or (path and not match["indent"]):
            continue
        node = PlanNode(match["name"], match["rest"].strip(), len(match["indent"]))
        while path and path[-1].depth >= node.depth:
            path.pop()
        (path[-1] if path else root).children.append(node)
        path.append(node)
    return root.children[0] if root.children else root


def watermarked(text: str) -> int:
    """How many different columns in a text carry a watermark."""
    return len(set(_WATERMARKED.findall(text)))


def lists(text: str) -> list[str]:
    """What stands between each outer `[` of a text and its `]`."""
    found, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character == "[":
            start = start if depth else index + 1
            depth += 1
        elif character == "]" and depth:
            depth -= 1
            if depth == 0:
                found.append(text[start:index])
    return found
