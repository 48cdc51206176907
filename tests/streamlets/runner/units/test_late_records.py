"""Late records that deduplication drops at inlets, from the progress reports of batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from blueprint.plan import InletPlan
from streamlets.channels.base import Position
from streamlets.runner.events.record_events import RecordsLate
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.late_records import records_late
from tests.streamlets.channels.topics import READING

UNIT = UnitId("billing", "q")


@dataclass
class FakeTopic:
    """A topic whose inlets drop late records with an operator; positions name it."""

    name: str
    operator: str | None

    def owns(self, position: Position) -> bool:
        """Return whether the position names the topic."""
        return self.name in json.loads(position.json)

    def late_operator(self, inlet: InletPlan) -> str | None:
        """Return the operator."""
        return self.operator


def report(dropped: list[tuple[str, int]], *read: str) -> dict[str, Any]:
    """Return the progress report of a batch.

    Arguments:
        dropped: the names of operators with the number of rows that each has dropped.
        read: the topics that it reads.
    """
    return {
        "batchId": 3,
        "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
        "sources": [{"endOffset": {name: {"0": 7}}} for name in (*read, "elsewhere")],
        "stateOperators": [{"operatorName": name, "numRowsDroppedByWatermark": rows} for name, rows in dropped],
    }


def late(dropped: list[tuple[str, int]], *read: str, executions: int = 1) -> RecordsLate | None:
    """Return the event of a batch. `orders` and `payments` deduplicate, `prices` does not."""
    operators = {"orders": "dedupe", "payments": "dedupe", "prices": None}
    topics: Any = {name: FakeTopic(name, operator) for name, operator in operators.items()}
    inlets = [InletPlan("billing", f"{name}-in", None, READING, name) for name in topics]
    return records_late(report(dropped, *read), UNIT, 1.0, inlets, topics, executions)


def test_late_records_of_a_batch() -> None:
    """Those of the deduplication of its inlet, and not those of other operators; each counts once."""
    expected = RecordsLate(
        time=1.0, unit=UNIT, batch=3, inlet="orders-in", records=4, watermark="2026-01-01T00:00:00.000Z"
    )
    assert late([("dedupe", 4), ("stateStoreSave", 9)], "orders", "prices") == expected
    assert late([("dedupe", 8)], "orders", executions=2) == expected


@pytest.mark.parametrize(
    ("dropped", "read"),
    [([("dedupe", 0)], ["orders"]), ([("stateStoreSave", 9)], ["orders"]), ([("dedupe", 4)], ["prices"])],
    ids=["none", "other operator", "the author's own"],
)
def test_nothing_is_reported(dropped: list[tuple[str, int]], read: list[str]) -> None:
    """Without late records, and for what only the author's logic drops."""
    assert late(dropped, *read) is None


@pytest.mark.parametrize("read", [["orders", "payments"], ["orders", "prices"]])
def test_an_unknown_inlet_is_not_named(read: list[str]) -> None:
    """Several inlets deduplicate, or the author's logic does, too: Spark does not name the inlet of an operator."""
    event = late([("dedupe", 4), ("dedupe", 1)], *read)
    assert event is not None
    assert (event.inlet, event.records) == ("", 5)


def test_two_inlets_of_a_topic() -> None:
    """The one that deduplicates is named, in whatever order the streamlet has them."""
    topic: Any = FakeTopic("orders", "dedupe")
    topic.late_operator = lambda inlet: "dedupe" if inlet.name == "once" else None
    inlets = [InletPlan("billing", name, None, READING, "orders") for name in ("all", "once")]
    event = records_late(report([("dedupe", 4)], "orders", "orders"), UNIT, 1.0, inlets, {"orders": topic})
    assert event is not None
    assert (event.inlet, event.records) == ("once", 4)


def test_an_inlet_that_is_read_twice_is_named() -> None:
    """A union of a topic with itself has two operators."""
    event = late([("dedupe", 4), ("dedupe", 4)], "orders", "orders")
    assert event is not None
    assert (event.inlet, event.records) == ("orders-in", 8)
