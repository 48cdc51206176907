"""What `flow run` shows: lines, JSON, and the table on a terminal."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from cli.live import JsonView, LineView, TableView
from streamlets.runner.events.model import Event, RunEnded, RunStarted, UnitChanged, UnitHeld, UnitId, UnitProgressed

UNIT = UnitId("delays", "out")
STORY: list[Event] = [
    RunStarted(100.0, "flights", ("delays", "board")),
    UnitChanged(101.0, UNIT, "starting"),
    UnitChanged(102.0, UNIT, "running"),
    UnitProgressed(103.0, UNIT, 0, 1000, {"out": 900}, 4, 2, {"in": 5000}, 7, 1.0, None),
    UnitProgressed(104.0, UNIT, 1, 1000, {"out": 900}, 0, 1, {"in": 4000}, 9, 1.0, None),
    UnitChanged(105.0, UNIT, "backing-off", "sink down", ("delays.py:7 in each",), 8.0),
    UnitChanged(113.0, UNIT, "starting"),
    UnitChanged(114.0, UNIT, "completed"),
    UnitHeld(115.0, UNIT, "aggregation", 9, "windows open"),
    RunEnded(116.0, 0, ""),
]


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A line per event with the time, batches summed up, frames under a failure, late and held at the end."""
    with LineView("app/logs") as view:
        for event in STORY:
            view.event(event)
        view.print_line("from the console sink")
    lines = [line[10:] if line[2:3] == ":" else line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "flights: started with 2 streamlets; logs in app/logs",
        "delays.out: starting",
        "delays.out: running",
        "delays: 1,000 rows in, 900 to out, 4 dead letters, 5,000 behind",
        "delays.out: backing-off, restart in 8.0 s",
        "at delays.py:7 in each",
        "sink down",
        "delays.out: starting",
        "delays: 2,000 rows in, 1,800 to out, 4 dead letters, 4,000 behind",
        "delays.out: completed",
        "delays.out: aggregation still holds 9 rows (windows open)",
        "delays: 3 rows came too late",
        "ended: all done (exit code 0)",
        "from the console sink",
    ]


def test_rows_of_a_last_batch_that_read_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What windows and joins give out at the end is told, though no row came in; a streamlet told once is not told
    again."""
    story: list[Event] = [
        RunStarted(100.0, "flights", ("delays",)),
        UnitChanged(101.0, UNIT, "running"),
        UnitProgressed(102.0, UNIT, 0, 1000, {"out": 0}),
        UnitProgressed(103.0, UNIT, 1, 0, {"out": 70}),
        UnitChanged(104.0, UNIT, "completed"),
        UnitChanged(105.0, UNIT, "completed"),
    ]
    with LineView("app/logs") as view:
        for event in story:
            view.event(event)
    told = [line[10:] for line in capsys.readouterr().out.splitlines() if "rows in" in line]
    assert told == ["delays: 1,000 rows in, 0 to out", "delays: 1,000 rows in, 70 to out"]


def test_json_is_all_that_stdout_gets(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of the standard output is an event; what streamlets and Spark print goes to the standard error."""
    with JsonView() as view:
        for event in STORY:
            view.event(event)
        print("an author's print")
        view.print_line("from the console sink")
    out, err = capsys.readouterr()
    kinds = [json.loads(line)["event"] for line in out.splitlines()]
    assert (len(kinds), kinds[0], kinds[-1]) == (len(STORY), "run-started", "run-ended")
    assert err == "an author's print\nfrom the console sink\n"


def test_table() -> None:
    """The table shows each streamlet's state, rows, backlog, held rows and dead letters; failures stand above it."""
    out = io.StringIO()
    view = TableView("app/logs", Console(file=out, width=100, force_terminal=True, color_system=None))
    with view:
        for event in STORY[:6]:
            view.event(event)
    shown = out.getvalue()
    assert shown.index("delays.out: backing-off, restart in 8.0 s") < shown.index("at delays.py:7 in each")
    assert shown.index("at delays.py:7 in each") < shown.index("sink down")
    (row,) = [line for line in shown.splitlines()[-6:] if "delays" in line]
    cells = [cell.strip() for cell in row.replace("│", "┃").split("┃") if cell.strip()]
    assert cells[1].startswith("backing-off")
    assert cells[2:4] == ["2,000", "1,800"]
    assert cells[5:] == ["4,000", "9", "4"]
