"""A query has found its sources when it has looked at each of them once."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from streamlets.spark.starting import await_sources

INITIALIZING = "Initializing sources"
LOOKING = "Getting offsets from PythonMicroBatchStream"
WAITING = "Waiting for data to arrive"


def _query(*messages: str) -> Any:
    """A query whose status has one message after the other, and then the last one."""
    left = list(messages)
    return type("", (), {"status": property(lambda _: {"message": left.pop(0) if len(left) > 1 else left[0]})})()


@pytest.mark.parametrize("last", [WAITING, "Processing new data", "Stopped", "No new data but cleaning up state"])
def test_it_is_awaited_until_it_has_looked_at_its_sources(last: str) -> None:
    """Whatever it does then: it has its processes."""
    pauses: list[float] = []
    assert await_sources(_query(INITIALIZING, LOOKING, LOOKING, last), sleep=pauses.append)
    assert len(pauses) == 3


def test_a_query_that_is_to_stop_is_not_awaited() -> None:
    """A drain does not wait for a source that does not answer."""
    answers: Iterator[bool] = iter([True, True, False])
    assert not await_sources(_query(LOOKING), lambda: next(answers), sleep=lambda _: None)


def test_a_source_may_take_longer_than_others_wait() -> None:
    """After half a minute the next query may start."""
    time = SimpleNamespace(now=0.0)

    def sleep(seconds: float) -> None:
        time.now += seconds

    assert not await_sources(_query(LOOKING), sleep=sleep, clock=lambda: time.now)
    assert 30 <= time.now < 31


@pytest.mark.spark
def test_sparks_own_messages_are_known(spark: Any) -> None:
    """A real query comes out of its first messages."""
    query = spark.readStream.name("rows").format("rate").load().writeStream.format("noop").start()
    try:
        assert await_sources(query)
        assert "rate" not in query.status["message"].lower() or query.recentProgress
    finally:
        query.stop()
