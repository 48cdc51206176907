"""Records that a batch has read are counted by its positions, independent of Spark's count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blueprint.core_settings import InletSettings
from blueprint.plan import InletPlan
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.runner.units.record_counts import backlog, rows_by_inlet, rows_read
from tests.streamlets.channels.topics import READING, add, made
from tests.streamlets.runner.checkpoints.test_checkpoint import position


@pytest.fixture
def topic(tmp_path: Path) -> DeltaTopic:
    """A topic with three commits of ten records."""
    topic = made(tmp_path)
    for number in range(3):
        add(topic, number, range(number * 10, number * 10 + 10))
    return topic


def _inlet(name: str = "in", starting: Any = "earliest") -> InletPlan:
    return InletPlan("mean", name, "rows", READING, "readings", InletSettings(starting=starting))


def _source(topic: DeltaTopic, start: int | None, end: int, counted: int) -> dict[str, Any]:
    offsets = [None if version is None else json.loads(position(topic, version)) for version in (start, end)]
    return {"startOffset": offsets[0], "endOffset": offsets[1], "numInputRows": counted}


@pytest.mark.parametrize("counted", [0, 20, 40, 5])
def test_rows_of_a_topic_are_counted_between_two_positions(topic: DeltaTopic, counted: int) -> None:
    """Also if the batch is executed twice, partly, or not at all (a replay whose files exist)."""
    topics, inlets = {"readings": topic}, [_inlet()]
    for start, end, read, left in ((None, 2, 10, 20), (2, 4, 20, 0)):
        report = {"name": "q", "sources": [_source(topic, start, end, counted)]}
        assert rows_read(report, inlets, topics) == read
        assert backlog(report, inlets, topics) == {"in": left}


def test_a_batch_without_a_known_start_has_sparks_count(topic: DeltaTopic) -> None:
    """This is the first batch of a reader that starts with the latest records."""
    report = {"name": "q", "sources": [_source(topic, None, 4, 7)]}
    assert rows_read(report, [_inlet(starting="latest")], {"readings": topic}) == 7


def test_rows_of_other_sources_are_counted_once(topic: DeltaTopic) -> None:
    """Spark counts them in each execution of the batch."""
    report = {"sources": [{"startOffset": 3, "endOffset": 9, "numInputRows": 40}, _source(topic, 3, 4, 20)]}
    assert rows_read(report, [_inlet()], {"readings": topic}, executions=2) == 20 + 10


def test_two_readers_of_a_topic_are_counted_separately(topic: DeltaTopic) -> None:
    """A join of a topic with itself reads it twice."""
    report = {"name": "q", "sources": [_source(topic, 3, 4, 1), _source(topic, 3, 4, 1)]}
    assert rows_by_inlet(report, [_inlet("a"), _inlet("b")], {"readings": topic}) == {"a": 10, "b": 10}
    assert rows_by_inlet(report, [_inlet("a")], {"readings": topic}) == {"a": 20}
