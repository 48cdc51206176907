"""The status as JSON, and the file that other terminals read."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlets.runner.events.cluster_events import ExecutorsAdded
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
from streamlets.runner.events.unit_events import (
    BatchStuck,
    UnitChanged,
    UnitMeasured,
    UnitProgressed,
    UnitRecovered,
    UnitSplit,
    UnitStuck,
)
from tests.random_examples import examples

_REFS = ("a", "b")
_TIMES = st.floats(0, 100)
_COUNTS = st.integers(0, 5)
_TEXTS = st.text(max_size=3)
_FRAMES = st.lists(_TEXTS, max_size=2).map(tuple)
_BY_NAME = st.dictionaries(st.sampled_from(["in", "out"]), _COUNTS, max_size=2)
_PHASES = st.dictionaries(st.sampled_from(["planning", "other"]), _TIMES)
_UNITS = st.builds(UnitId, st.sampled_from(_REFS), st.sampled_from(["", "x", "y"]))
_EVENTS = st.one_of(
    st.builds(
        UnitChanged, _TIMES, _UNITS, st.sampled_from(get_args(State)), _TEXTS, _FRAMES, retry_in=st.none() | _TIMES,
        restarts=_COUNTS, waiting=_TEXTS,
    ),
    st.builds(
        UnitProgressed, _TIMES, _UNITS, st.none() | _COUNTS, _COUNTS, _BY_NAME, dead_letters=_COUNTS, late=_COUNTS,
        backlog=_BY_NAME, pending_rows=_COUNTS, seconds=_TIMES, watermark=st.none() | _TEXTS, state_rows=_COUNTS,
        state_bytes=_COUNTS, state_seconds=_TIMES, phases=_PHASES,
    ),
    st.builds(
        UnitMeasured, _TIMES, _UNITS, _BY_NAME, st.none() | st.tuples(_COUNTS, _TIMES),
        tasks=st.none() | st.builds(OpenTasks, oldest=st.none() | _TIMES, failed=_COUNTS),
        oldest=st.dictionaries(st.sampled_from(["in", "out"]), _TIMES),
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
    st.builds(UnitStuck, time=_TIMES, unit=_UNITS, what=_TEXTS, since=_TIMES, frames=_FRAMES),
    st.builds(UnitRecovered, _TIMES, _UNITS),
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


_BEFORE_PHASES = """
{"process": 4711, "version": 1, "written": 20.0, "health": "running", "application": "app", "started": 0.0,
 "sequence": 3, "updated": 2.0, "ended": null, "exit_code": null, "reason": "", "stopping": "", "scaled": {},
 "without_spark": [], "streamlets": [
 {"ref": "b", "state": "running", "cause": "", "waiting": "", "replicas": null, "units": [
  {"query": "out", "state": "running", "since": 1.0, "cause": "", "frames": [], "restarts": 1, "retry_at": null,
   "rows_in": 7, "rows_out": {"out": 7}, "dead_letters": 0, "late": 0, "pending_rows": 0, "state_rows": 0,
   "backlog": {"in": 3}, "batch": 4, "batch_seconds": 0.5, "watermark": null, "recent": [[2.0, 7]],
   "running_batch": null, "waiting": "", "waits_since": null, "waits_until": null, "tasks": null, "overdue": false,
   "hook": "", "ports": {}, "rate": 0.0}]}]}
"""
"""A status file of the release before the phases of batches."""


def test_a_status_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    """What it does not have is as at the start of a run; what it has is kept."""
    file = tmp_path / "status.json"
    file.write_text(_BEFORE_PHASES)
    written = read_status(file)
    assert written is not None
    (unit,) = written.status.units.values()
    assert (unit.rows_in, unit.restarts, unit.backlog, unit.seconds) == (7, 1, {"in": 3}, 0.5)
    assert (unit.batches, unit.phase_seconds, unit.spells, unit.last_record) == (0, {}, (), None)


def test_the_status_only_has_more_keys_than_before() -> None:
    """Programs that read the status of an earlier release find every key of it."""
    before = json.loads(_BEFORE_PHASES)
    status = fold(RunStatus(), RunStarted(0.0, "app", ("b",)))
    status = fold(status, UnitChanged(1.0, UnitId("b", "out"), "running"))
    now = json.loads(json.dumps({"process": 1} | to_json(status, 20.0)))
    assert set(before) <= set(now)
    assert set(before["streamlets"][0]) <= set(now["streamlets"][0])
    assert set(before["streamlets"][0]["units"][0]) <= set(now["streamlets"][0]["units"][0])


def test_the_documentation_has_every_key_of_the_status() -> None:
    """Each key of the status, of a streamlet and of a unit is in a row of the page."""
    page = (Path(__file__).parents[4] / "docs" / "status-json.md").read_text(encoding="utf-8")
    status = fold(RunStatus(), RunStarted(0.0, "app", ("b",)))
    status = fold(status, ExecutorsAdded(1.0, ("b",), ("0 on h:1",), 1, 2))
    data: Any = {"process": 1} | to_json(fold(status, UnitChanged(1.0, UnitId("b", "out"), "running")), 20.0)
    (streamlet,), (executors,) = data["streamlets"], data["executors"]
    documented = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    assert {*data, *executors, *streamlet, *streamlet["units"][0]} <= documented


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


class _SlowFile:
    """A file whose texts take much processor time to write."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.seconds = 0.02

    def write(self, text: str) -> None:
        until = time.thread_time() + self.seconds
        while time.thread_time() < until:
            pass
        self.texts.append(text)

    @property
    def last(self) -> dict[str, Any]:
        return json.loads(self.texts[-1]) if self.texts else {}


@pytest.fixture
def slow_file(monkeypatch: pytest.MonkeyPatch) -> _SlowFile:
    """The file of every `StatusFile`."""
    file = _SlowFile()
    monkeypatch.setattr("streamlets.runner.events.status_file.ReservedFile", lambda path: file)
    return file


def test_changes_of_a_large_status_are_written_together(slow_file: _SlowFile, tmp_path: Path) -> None:
    """A burst of changes is not written one by one, and its last change is written without another event."""
    publisher = Publisher([StatusFile(tmp_path / "status.json")])
    publisher.publish(RunStarted(1.0, "app", ("a",)))
    for number in range(500):
        publisher.publish(UnitChanged(float(number), UnitId("a", "x"), "running"))
    assert len(slow_file.texts) < 250
    while slow_file.last["sequence"] < 501:
        time.sleep(0.01)


def test_the_end_of_a_run_is_written_at_once_and_last(slow_file: _SlowFile, tmp_path: Path) -> None:
    """No write that was put off comes after it: the next run may own the file."""
    for _ in range(5):
        publisher = Publisher([StatusFile(tmp_path / "status.json")])
        publisher.publish(RunStarted(1.0, "app", ("a",)))
        publisher.publish(UnitChanged(2.0, UnitId("a", "x"), "running"))  # put off
        publisher.publish(RunEnded(3.0, 0))
        assert slow_file.last["ended"] == 3.0
        written = len(slow_file.texts)
        time.sleep(0.3)
        assert len(slow_file.texts) == written
