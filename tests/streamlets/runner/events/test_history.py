"""The history of events: what is kept, in which order, over restarts, rotations and damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.runner.events import history as module
from streamlets.runner.events.history import EventHistory, Happened, HistoryReader, history
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed

UNIT = UnitId("mean", "out")


def _run(file: Path, started: float, changes: int = 2) -> None:
    view = EventHistory(file)
    events = Publisher([view])
    events.publish(RunStarted(started, "plant", ("mean",)))
    for number in range(changes):
        events.publish(UnitChanged(started + number, UNIT, "running"))
        events.publish(UnitProgressed(started + number, UNIT, number, 10))
    events.publish(RunEnded(started + changes, 0))
    view.close()


def test_events_are_kept_without_measurements(tmp_path: Path) -> None:
    """Each has its place in its run, its level, and the lines for people; measurements only take numbers."""
    file = tmp_path / "events.jsonl"
    _run(file, 100.0, changes=1)
    first, running, ended = history(file)
    assert (first.kind, first.streamlet, first.lines) == ("run-started", "", ("plant: started with 1 streamlet",))
    assert (running.streamlet, running.query, running.level) == ("mean", "out", "info")
    assert [event.sequence for event in (first, running, ended)] == [1, 2, 4]


def test_a_reader_gets_each_event_once_over_restarts(tmp_path: Path) -> None:
    """The events of a later run come after all of an earlier one, although its numbers begin again."""
    file = tmp_path / "events.jsonl"
    reader = HistoryReader(file)
    assert reader.new() == ()
    _run(file, 100.0)
    assert [event.run for event in reader.new()] == [100.0] * 4
    _run(file, 200.0)
    assert [event.run for event in reader.new()] == [200.0] * 4
    assert reader.new() == ()


def test_no_event_is_missed_when_a_new_file_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has a limited size; what a reader has not seen of the older half is read from it."""
    monkeypatch.setattr(module, "SIZE", 2000)
    file = tmp_path / "events.jsonl"
    view = EventHistory(file)
    events = Publisher([view])
    reader = HistoryReader(file)
    seen: list[Happened] = []
    for number in range(100):
        events.publish(UnitChanged(float(number), UNIT, "running", f"cause {number}"))
        if number % 3 == 0:
            seen += reader.new()
    seen += reader.new()
    view.close()
    assert [event.sequence for event in seen] == list(range(1, 101))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3 * 2000


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"{}\n", b"[1]\n", b'{"run": 1}\n', b"\0" * 400, b"null\n"])
def test_damaged_lines_cost_only_themselves(tmp_path: Path, damage: bytes) -> None:
    """The events before and after a damaged line are read."""
    file = tmp_path / "events.jsonl"
    _run(file, 100.0)
    whole = file.read_bytes()
    file.write_bytes(whole + damage + b"\n" + whole.replace(b'"run":100.0', b'"run":200.0'))
    assert [event.run for event in history(file)] == [100.0] * 4 + [200.0] * 4


def test_a_line_that_is_being_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    """A reader waits for the end of the line."""
    file = tmp_path / "events.jsonl"
    _run(file, 100.0)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    reader = HistoryReader(file)
    assert len(reader.new()) == 3
    file.write_bytes(whole)
    assert len(reader.new()) == 1


def test_the_first_call_returns_the_last_events(tmp_path: Path) -> None:
    """No more than were asked for."""
    file = tmp_path / "events.jsonl"
    _run(file, 100.0, changes=50)
    assert [event.sequence for event in history(file, most=2)] == [100, 102]
