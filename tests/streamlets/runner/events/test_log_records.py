"""The records of the log about one streamlet: whole, in both formats, and only its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.runner.events import log_records
from streamlets.runner.events.event import Event
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.log_records import records_of
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged

MEAN, OTHER = UnitId("mean", "out"), UnitId("mean-of-day", "out")
STORY: list[Event] = [
    RunStarted(0.0, "plant", ("mean", "mean-of-day")),
    UnitChanged(1.0, MEAN, "backing-off", "ValueError: bad", ("plant.py:3 in mean",), retry_in=1.0),
    UnitChanged(2.0, OTHER, "running"),
    UnitChanged(3.0, UnitId("mean"), "failed", "ValueError: bad"),
    RunEnded(4.0, 1, "failed for good: mean"),
]
TEXT = "Traceback ...\nValueError: mean: bad\n{"


def write(file: Path, *, as_json: bool = False) -> None:
    """Append the story to a log, and two failures in full."""
    log = RunLog(file, json=as_json)
    events = Publisher([log])
    for event in STORY:
        events.publish(event)
    log.failure(OTHER, TEXT)
    log.failure(MEAN, "Traceback ...\nValueError: bad")
    log.note("refused: pause mean")
    log.close()


def headlines(records: list[str]) -> list[str]:
    """Return the first line of each record, without its time."""
    return [record.splitlines()[0].partition(" ")[2] for record in records]


def test_a_streamlet_has_its_own_records_with_all_their_lines(tmp_path: Path) -> None:
    """Those of its queries, too, but not those of a streamlet whose name begins with its name."""
    write(tmp_path / "run.log")
    records = records_of("mean", tmp_path / "run.log", 10_000)
    assert headlines(records) == [
        "mean.out: backing-off, restart in 1.0 s", "mean: failed: ValueError: bad", "mean.out: the failure in full",
    ]  # fmt: skip
    assert records[0].splitlines()[1:] == ["  at plant.py:3 in mean", "  ValueError: bad"]
    assert records[2].splitlines()[1:] == ["Traceback ...", "ValueError: bad"]
    others = records_of("mean-of-day", tmp_path / "run.log", 10_000)
    assert headlines(others) == ["mean-of-day.out: running", "mean-of-day.out: the failure in full"]
    assert others[1].endswith(f"\n{TEXT}")
    assert records_of("nobody", tmp_path / "run.log", 10_000) == []


def test_a_log_of_several_runs_has_both_formats(tmp_path: Path) -> None:
    """A record of JSON is found by its streamlet."""
    write(tmp_path / "run.log")
    write(tmp_path / "run.log", as_json=True)
    records = records_of("mean", tmp_path / "run.log", 10_000)
    assert [record.startswith("{") for record in records] == [False] * 3 + [True] * 3


def test_the_newest_records_are_kept_and_the_last_one_always(tmp_path: Path) -> None:
    """A failure may be longer than what is shown."""
    write(tmp_path / "run.log")
    every = records_of("mean", tmp_path / "run.log", 10_000)
    assert records_of("mean", tmp_path / "run.log", 1) == every[-1:]
    assert records_of("mean", tmp_path / "run.log", len(every[-1]) + len(every[-2])) == every[-2:]


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a record whose beginning is not read belongs to nobody."""
    write(tmp_path / "run.log")
    whole = records_of("mean", tmp_path / "run.log", 10_000)
    size = (tmp_path / "run.log").stat().st_size
    for read in range(size + 1):
        monkeypatch.setattr(log_records, "READ", read)
        some = records_of("mean", tmp_path / "run.log", 10_000)
        assert some == whole[len(whole) - len(some) :]
    assert records_of("mean", tmp_path / "none.log", 10_000) == []
