"""The status as JSON, and the file that other terminals read."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from streamlets.runner.events.event import Event, fold, json_text
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import (
    RunEnded,
    RunStarted,
    RunStopping,
    SparkStarting,
    SparkUp,
    StreamletScaled,
)
from streamlets.runner.events.status import RATE_WINDOW, OpenTasks, RunStatus, State, UnitId
from streamlets.runner.events.status_file import StatusFile, read_status
from streamlets.runner.events.status_json import from_json, to_json
from streamlets.runner.events.unit_events import BatchStuck, UnitChanged, UnitMeasured, UnitProgressed, UnitSplit
from tests.random_examples import examples

_REFS = ("a", "b")
_TIMES = st.floats(0, 100)
_COUNTS = st.integers(0, 5)
_TEXTS = st.text(max_size=3)
_FRAMES = st.lists(_TEXTS, max_size=2).map(tuple)
_BY_NAME = st.dictionaries(st.sampled_from(["in", "out"]), _COUNTS, max_size=2)
_UNITS = st.builds(UnitId, st.sampled_from(_REFS), st.sampled_from(["", "x", "y"]))
_EVENTS = st.one_of(
    st.builds(
        UnitChanged, _TIMES, _UNITS, st.sampled_from(get_args(State)), _TEXTS, _FRAMES, retry_in=st.none() | _TIMES,
        restarts=_COUNTS, waiting=_TEXTS,
    ),
    st.builds(
        UnitProgressed, _TIMES, _UNITS, st.none() | _COUNTS, _COUNTS, _BY_NAME, dead_letters=_COUNTS, late=_COUNTS,
        backlog=_BY_NAME, pending_rows=_COUNTS, seconds=_TIMES, watermark=st.none() | _TEXTS, state_rows=_COUNTS,
    ),
    st.builds(
        UnitMeasured, _TIMES, _UNITS, _BY_NAME, st.none() | st.tuples(_COUNTS, _TIMES),
        tasks=st.none() | st.builds(OpenTasks, oldest=st.none() | _TIMES, failed=_COUNTS),
    ),
    st.builds(
        BatchStuck,
        time=_TIMES,
        unit=_UNITS,
        batch=_COUNTS,
        since=_TIMES,
        seconds=_TIMES,
        frames=_FRAMES,
        stack=_FRAMES,
    ),
    st.builds(SparkStarting, _TIMES, st.just(_REFS)),
    st.builds(SparkUp, _TIMES, st.just(_REFS[:1])),
    st.builds(UnitSplit, _TIMES, _UNITS, st.just(("x", "y"))),
    st.builds(StreamletScaled, _TIMES, st.sampled_from(_REFS), st.none() | _COUNTS, _TEXTS),
    st.builds(RunStopping, _TIMES, _TEXTS, st.booleans()),
    st.builds(RunEnded, _TIMES, _COUNTS, _TEXTS),
)  # fmt: skip


@given(st.lists(_EVENTS, max_size=30), _TIMES)
@settings(max_examples=examples(200), deadline=None)
def test_a_status_survives_json(events: list[Event], now: float) -> None:
    """Whatever has happened, a reader has the status of the runner, and would write the same."""
    status = fold(RunStatus(), RunStarted(0.0, "app", _REFS))
    for event in events:
        status = fold(status, event)
        assert json.loads(json_text(event.data()))["time"] == event.time
    data = json.loads(json.dumps(to_json(status, now)))
    read = from_json(data)
    assert read == status
    assert json.loads(json.dumps(to_json(read, now))) == data


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 9)), min_size=1, max_size=60))
def test_rows_of_the_last_seconds_stay_few(batches: list[tuple[float, int]]) -> None:
    """A query with many batches per second does not make the status large, and no row is lost from the rate."""
    status, now = fold(RunStatus(), UnitChanged(0.0, UnitId("a", "x"), "running")), 0.0
    for number, (wait, rows) in enumerate(sorted(batches)):
        now += wait / 10
        status = fold(status, UnitProgressed(now, UnitId("a", "x"), number, rows))
    unit = status.units[UnitId("a", "x")]
    assert len(unit.recent) <= RATE_WINDOW + 1
    if now < RATE_WINDOW:
        assert sum(rows for _, rows in unit.recent) == unit.rows_in


def test_the_file_is_replaced_atomically(tmp_path: Path) -> None:
    """A reader never sees a part of a status, however often it is replaced."""
    file = tmp_path / "status.json"
    publisher, over = Publisher([StatusFile(file)]), threading.Event()
    publisher.publish(RunStarted(1.0, "app", ("a",)))

    def write() -> None:
        for number in range(300):
            publisher.publish(UnitChanged(float(number), UnitId("a", "x"), "running", "x" * 50_000))
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not over.is_set():
        assert read_status(file) is not None
        seen += 1
    writer.join()
    assert seen > 0


def test_a_missing_or_broken_file_reads_as_none(tmp_path: Path) -> None:
    """Neither is an error."""
    file = tmp_path / "status.json"
    assert read_status(file) is None
    for text in ("{", "[]", "{}", '{"streamlets": [{}]}'):
        file.write_text(text)
        assert read_status(file) is None
