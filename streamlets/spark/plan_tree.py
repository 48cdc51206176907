"""A query's analyzed plan as Spark prints it, read into nodes: one call into the JVM instead of one per node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINE = re.compile(r"^(?P<indent>[ :|]*(?:[+:]- )?)(?P<marks>[~'!]*)(?P<name>[A-Za-z]\w*)(?P<rest>.*)$")
_WATERMARKED = re.compile(r"#\d+L?-T\d+ms")


@dataclass(slots=True)
class PlanNode:
    """One operator of a plan.

    Arguments:
        name: the name, such as `Aggregate`.
        rest: the rest of its line.
        depth: the column of its name in the printed plan.
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
        """Yield the node and all nodes below it, from the top."""
        yield self
        for child in self.children:
            yield from child.all()


def plan_tree(frame: DataFrame) -> PlanNode:
    """Return the analyzed plan of a frame, without common table expressions."""
    return parse_tree(str(analyzed(frame).treeString()))


def analyzed(frame: DataFrame) -> Any:
    """Return the analyzed plan of a frame in Java, with each common table expression where it is used.

    Spark has them beside the query until it optimizes the plan, so that the nodes of the query seem to have no source.
    """
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark has no public way
    if "WithCTE" not in plan.treeString():
        return plan
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
    return jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False, False).apply(plan)


def parse_tree(text: str) -> PlanNode:
    """Return the root of a printed plan; lines that are not nodes (strings with line ends) are ignored."""
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
    """Return the number of different columns with a watermark in a text."""
    return len(set(_WATERMARKED.findall(text)))


def lists(text: str) -> list[str]:
    """Return the text between each outer `[` and its `]`."""
    inner, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character == "[":
            start = start if depth else index + 1
            depth += 1
        elif character == "]" and depth:
            depth -= 1
            if depth == 0:
                inner.append(text[start:index])
    return inner
