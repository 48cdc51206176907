"""`run.log`: readable lines with the user's frames before the cause, or JSON records, and the text of each failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamlets.runner.events.event import Event
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed

UNIT = UnitId("mean", "out")
STORY: list[Event] = [
    RunStarted(0.0, "plant", ("mean",)),
    UnitProgressed(1.0, UNIT, 0, 10),
    UnitChanged(
        2.0, UNIT, "backing-off", "ValueError: bad", ("plant.py:3 in mean", "plant.py:9 in each"), retry_in=1.0
    ),
    UnitChanged(3.0, UNIT, "failed", "ValueError: bad (abandoned after 1 restart)"),
    RunEnded(4.0, 1, "failed for good: mean.out"),
]
TEXT = "Traceback ...\nValueError: bad"


def _written(file: Path, *, as_json: bool) -> list[str]:
    log = RunLog(file, json=as_json)
    events = Publisher([log])
    for event in STORY:
        events.publish(event)
    log.failure(UNIT, TEXT)
    log.close()
    return file.read_text().splitlines()


def test_lines_show_the_users_frames_first(tmp_path: Path) -> None:
    """The state, then the user's frames, then the cause; no batches; the full text of a failure follows its unit."""
    lines = _written(tmp_path / "run.log", as_json=False)
    assert lines[:-3] == [
        "1970-01-01T00:00:00.000+00:00 plant: started with 1 streamlet",
        "1970-01-01T00:00:02.000+00:00 mean.out: backing-off, restart in 1.0 s",
        "  at plant.py:3 in mean",
        "  at plant.py:9 in each",
        "  ValueError: bad",
        "1970-01-01T00:00:03.000+00:00 mean.out: failed: ValueError: bad (abandoned after 1 restart)",
        "1970-01-01T00:00:04.000+00:00 ended: failed for good: mean.out (exit code 1)",
    ]
    assert lines[-3].endswith(" mean.out: the failure in full")
    assert "\n".join(lines[-2:]) == TEXT


def test_records_have_timestamp_level_event_and_application(tmp_path: Path) -> None:
    """A failure is one record with its text."""
    records = [json.loads(line) for line in _written(tmp_path / "run.log", as_json=True)]
    assert [(record["event"], record["level"]) for record in records] == [
        ("run-started", "info"),
        ("unit-changed", "warning"),
        ("unit-changed", "error"),
        ("run-ended", "error"),
        ("failure", "error"),
    ]
    assert {record["application"] for record in records} == {"plant"}
    assert records[1]["timestamp"] == "1970-01-01T00:00:02.000+00:00"
    assert records[1]["frames"] == ["plant.py:3 in mean", "plant.py:9 in each"]
    assert (records[-1]["streamlet"], records[-1]["query"], records[-1]["text"]) == ("mean", "out", TEXT)


def test_lines_that_cannot_be_written_are_lost(tmp_path: Path) -> None:
    """No exception is raised, so that the run goes on."""
    log = RunLog(tmp_path / "missing" / "run.log")
    Publisher([log]).publish(STORY[0])
    log.failure(UNIT, TEXT)
    log.close()
    assert not (tmp_path / "missing").exists()


class _Ids:
    """The ids of a trace for every record about a unit."""

    def of(self, event: Event) -> dict[str, str]:
        return {"trace_id": "ab", "span_id": "cd"} if isinstance(event, UnitChanged) else {}

    def of_failure(self, unit: UnitId) -> dict[str, str]:
        return {"trace_id": "ab"}


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_records_about_a_batch_have_the_ids_of_its_trace(tmp_path: Path, as_json: bool) -> None:
    """Records about anything else have none, and the text of a failure stays as it is."""
    log = RunLog(tmp_path / "run.log", json=as_json, ids=_Ids())
    publisher = Publisher([log])
    for event in STORY:
        publisher.publish(event)
    log.failure(UNIT, TEXT)
    log.close()
    text = (tmp_path / "run.log").read_text()
    changes = sum(isinstance(event, UnitChanged) for event in STORY)
    assert text.count('"span_id":"cd"' if as_json else " trace_id=ab span_id=cd\n") == changes
    if as_json:
        assert json.loads(text.splitlines()[-1])["trace_id"] == "ab"
    else:
        assert f"mean.out: the failure in full trace_id=ab\n{TEXT.rstrip()}" in text
