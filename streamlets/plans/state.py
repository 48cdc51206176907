"""Operators whose state grows for ever: nothing tells Spark when a key, or a row that waits, is no longer needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlets.spark.plan_tree import PlanNode, lists, plan_tree, watermarked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Unbounded:
    """An operator that forgets nothing.

    Arguments:
        what: it is, in the author's words; why: nothing leaves its state; remedy: what would let go.
        node: its print in the plan, to find it again.
    """

    what: str
    why: str
    remedy: str
    node: str


def holds(frame: DataFrame, mode: str, found: Unbounded) -> bool:
    """Whether an operator that was found is in the plan of an earlier frame, too."""
    return any(each.node == found.node for each in unbounded(plan_tree(frame), mode))


def unbounded(plan: PlanNode, mode: str) -> Iterator[Unbounded]:
    """The operators of a query whose state nothing bounds.

    Complete mode is to keep everything, so its aggregations are as asked for; an aggregation without keys has one row.
    """
    for node in plan.all():
        if not node.streaming:
            continue
        print_ = f"{node.name} {node.rest}"
        match node.name:
            case "Aggregate" if mode != "complete":
                keys, *results = lists(node.rest)  # without keys, the results are all that is printed
                if results and not watermarked(keys):
                    yield Unbounded(
                        "an aggregation", "none of the columns it groups by carries a watermark",
                        'put `.withWatermark("<time>", "<delay>")` before it and group by the time or a window of it',
                        print_,
                    )  # fmt: skip
            case "Deduplicate" if not watermarked(node.rest):
                yield _deduplication(print_)
            case "Distinct" if not _keeps_watermark(node.children[0]):
                yield _deduplication(print_)
            case "Join" if all(child.streaming for child in node.children) and watermarked(node.rest) < 2:
                yield Unbounded(
                    "a join of two streams", "its condition bounds the time between the rows of both sides by nothing",
                    "give both sides a watermark, and join on the watermarked times or on a range of them",
                    print_,
                )  # fmt: skip


def _deduplication(node: str) -> Unbounded:
    return Unbounded(
        "a deduplication", "none of the columns it compares carries a watermark",
        "use `dropDuplicatesWithinWatermark`, or compare a watermarked column, too",
        node,
    )  # fmt: skip


def _keeps_watermark(node: PlanNode) -> bool:
    """Whether a watermarked column is among all those of a node."""
    if node.name in ("Project", "Aggregate"):
        return bool(watermarked(node.rest))
    return node.name == "EventTimeWatermark" or any(_keeps_watermark(child) for child in node.children)
