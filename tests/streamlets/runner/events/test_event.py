"""An event is one class: every view shows an event that this file adds, and no other file knows it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.console import Console

from cli.output.live import JsonView, LineView, TableView
from streamlets.runner.events.event import Importance, UnitEvent
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import UnitId, UnitStatus
from streamlets.runner.events.status_file import StatusFile, read_status
from streamlets.runner.events.unit_events import UnitChanged

UNIT = UnitId("mean", "out")


@dataclass(frozen=True, slots=True)
class SinkThrottled(UnitEvent):
    """A sink has accepted fewer rows than it was given; `refused` is the number of the others."""

    usually = Importance.WARNING

    sink: str
    refused: int

    @property
    def line(self) -> str:
        return f"{self.unit}: the sink {self.sink} refused {self.refused:,} rows"

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        return replace(unit, late=unit.late + self.refused)


def test_an_added_event_is_in_all_views(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a line, a line above the table, JSON, a record of the log with its level, and changes the status."""
    log = RunLog(tmp_path / "run.log", json=True)
    lines, table = LineView("logs"), TableView("logs", Console(width=100, force_terminal=False))
    json_view = JsonView()
    publisher = Publisher([log, StatusFile(tmp_path / "status.json"), lines, table, json_view])
    publisher.publish(RunStarted(1.0, "plant", ("mean",)))
    publisher.publish(UnitChanged(2.0, UNIT, "running"))
    capsys.readouterr()
    publisher.publish(SinkThrottled(3.0, UNIT, "pages", 1_200))
    log.close()
    out = capsys.readouterr().out.splitlines()
    text = "mean.out: the sink pages refused 1,200 rows"
    fields = {"event": "sink-throttled", "streamlet": "mean", "query": "out", "sink": "pages", "refused": 1200}
    assert out[0].endswith(f"  {text}")
    assert out[1] == text
    assert json.loads(out[2]) == fields | {"time": 3.0}
    record = json.loads((tmp_path / "run.log").read_text().splitlines()[-1])
    assert record == fields | {
        "timestamp": "1970-01-01T00:00:03.000+00:00", "level": "warning", "application": "plant",
    }  # fmt: skip
    written = read_status(tmp_path / "status.json")
    assert written is not None
    assert written.status.units[UNIT].late == 1200


@dataclass(frozen=True, slots=True)
class _Shown(UnitEvent):
    level_of_test: Importance

    @property
    def importance(self) -> Importance:
        return self.level_of_test

    @property
    def line(self) -> str:
        return "shown"


@pytest.mark.parametrize("importance", list(Importance))
def test_each_view_shows_events_from_its_level_on(
    importance: Importance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log first, then lines, then the screen above the table; JSON has everything."""
    log = RunLog(tmp_path / "run.log")
    shown = []
    for view in (LineView("logs"), TableView("logs", Console(width=100, force_terminal=False)), JsonView()):
        Publisher([log, view]).publish(_Shown(1.0, UNIT, importance))
        shown.append("shown" in capsys.readouterr().out)
    log.close()
    logged = (tmp_path / "run.log").exists() and "shown" in (tmp_path / "run.log").read_text()
    levels = (Importance.DETAIL, Importance.STEP, Importance.NOTICE, Importance.DATA)
    assert (logged, *shown) == tuple(importance >= level for level in levels)
