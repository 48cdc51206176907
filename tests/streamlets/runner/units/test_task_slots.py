"""Queries in real-time mode need task slots of their own."""

from __future__ import annotations

import pytest

from streamlets.runner.units.task_slots import TaskSlots, TaskSlotsError
from streamlets.spark.real_time import slots_of


def test_slots_that_suffice_are_reserved_once_for_a_query() -> None:
    """A restart reserves the same slots again."""
    slots = TaskSlots()
    for _ in range(3):
        slots.reserve("hop.out", 2, 3)
    slots.reserve("archive.files", 0, 3)
    slots.reserve("report.out", 0, 3)


@pytest.mark.parametrize("first", [True, False])
def test_queries_in_batches_share_a_slot(first: bool) -> None:
    """The start of the query that has no slot left is refused, whatever the order; the message has each part."""
    queries = [("hop.out", 2), ("archive.files", 0)]
    slots = TaskSlots()
    one, other = queries if first else reversed(queries)
    slots.reserve(*one, 2)
    with pytest.raises(TaskSlotsError, match=r"2 task slots and needs 3: 2 for `hop.out`, 1 for the queries that run"):
        slots.reserve(*other, 2)


def test_slots_without_a_limit_are_not_checked() -> None:
    """A standalone cluster without `cores-max` may grow."""
    TaskSlots().reserve("hop.out", 1000, None)


def test_queries_in_batches_need_no_check() -> None:
    """Without a query in real time, one slot suffices."""
    TaskSlots().reserve("archive.files", 0, 1)


_EXECUTORS = {"spark.executor.instances": "3", "spark.executor.cores": "2"}


@pytest.mark.parametrize(
    ("settings", "slots"),
    [
        ({"spark.master": "spark://h:7077", "spark.cores.max": "5"}, 5),
        ({"spark.master": "spark://h:7077", **_EXECUTORS}, None),
        ({"spark.master": "yarn", **_EXECUTORS}, 6),
        ({"spark.master": "k8s://https://h", **_EXECUTORS}, 6),
        ({"spark.master": "yarn", "spark.executor.instances": "3"}, None),
        ({"spark.master": "yarn", "spark.dynamicAllocation.enabled": "true", **_EXECUTORS}, None),
    ],
)
def test_slots_of_a_cluster_are_those_of_its_settings(settings: dict[str, str], slots: int | None) -> None:
    """They are known before all executors have come."""
    assert slots_of(settings) == slots
