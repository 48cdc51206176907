"""Operators with unbounded state: Spark never learns when a key or a waiting row is no longer needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlets.spark.plan_tree import PlanNode, lists, plan_tree, watermarked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Unbounded:
    """An operator that never removes anything from its state.

    Arguments:
        what: its name for users, with an article.
        why: the reason.
        remedy: what to do, in the imperative.
        node: its text in the plan, by which it is found in other plans.
    """

    what: str
    why: str
    remedy: str
    node: str


def has_operator(frame: DataFrame, mode: str, operator: Unbounded) -> bool:
    """Return whether the plan of an earlier frame has the same operator with unbounded state."""
    return any(other.node == operator.node for other in unbounded(plan_tree(frame), mode))


def unbounded(plan: PlanNode, mode: str) -> Iterator[Unbounded]:
    """Yield the operators of a query whose state is not bounded.

    Aggregations in complete mode are not among them, because the mode means to keep everything, nor are aggregations
    without keys, which have one row.

    Arguments:
        plan: the analyzed plan of the query.
        mode: its output mode.
    """
    for node in plan.all():
        if not node.streaming:
            continue
        print_ = f"{node.name} {node.rest}"
        match node.name:
            case "Aggregate" if mode != "complete":
                keys, *results = lists(node.rest)  # without keys, only the results are printed
                if results and not watermarked(keys):
                    yield Unbounded(
                        "an aggregation", "none of its grouping columns has a watermark",
                        'add `.withWatermark("<time>", "<delay>")` before it and group by the time or a window of it',
                        print_,
                    )  # fmt: skip
            case "Deduplicate" if not watermarked(node.rest):
                yield _deduplication(print_)
            case "Distinct" if not _keeps_watermark(node.children[0]):
                yield _deduplication(print_)
            case "Join" if all(child.streaming for child in node.children) and watermarked(node.rest) < 2:
                yield Unbounded(
                    "a join of two streams", "its condition does not limit the time between the rows of both sides",
                    "give both sides a watermark, and join on the watermarked times or on a range of them",
                    print_,
                )  # fmt: skip


def _deduplication(node: str) -> Unbounded:
    return Unbounded(
        "a deduplication", "none of the columns that it compares has a watermark",
        "use `dropDuplicatesWithinWatermark`, or include a column with a watermark",
        node,
    )  # fmt: skip


def _keeps_watermark(node: PlanNode) -> bool:
    """Return whether one of a node's columns has a watermark."""
    if node.name in ("Project", "Aggregate"):
        return bool(watermarked(node.rest))
    return node.name == "EventTimeWatermark" or any(_keeps_watermark(child) for child in node.children)
