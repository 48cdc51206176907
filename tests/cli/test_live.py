"""What `flow run` shows: lines, JSON, and the table on a terminal."""

from __future__ import annotations

import io
import json
import re
import sys
import threading

import pytest
from pyspark.sql import Row
from pyspark.sql.types import LongType, StructField, StructType
from rich.console import Console

from cli.output.live import JsonView, LineView, TableView
from streamlets.egress.terminal import TerminalWriter
from streamlets.runner.events.model import (
    Event,
    RowsLate,
    RunEnded,
    RunStarted,
    UnitChanged,
    UnitHeld,
    UnitId,
    UnitProgressed,
)

UNIT = UnitId("delays", "out")
LATE = "the watermark dropped at least 3 late rows since the start (Spark counts them after partial aggregation)"
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
    RowsLate(116.0, UNIT, 3),
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
        "delays: 1,000 rows in, 900 to out, 4 dead letters, 2 late, 5,000 behind",
        "delays.out: backing-off, restart in 8.0 s",
        "at delays.py:7 in each",
        "sink down",
        "delays.out: starting",
        "delays: 2,000 rows in, 1,800 to out, 4 dead letters, 3 late, 4,000 behind",
        "delays.out: completed",
        "delays.out: 9 rows remain in state: aggregation (windows open)",
        f"delays.out: {LATE}",
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
    assert cells[5:] == ["4,000", "9", "3", "4"]


MISFIT = "ContractError: the rows do not fit the schema `Row`:\n  there is no column `x`\n  `y` is text"


@pytest.mark.parametrize("frames", [(), ("delays.py:7 in each",)])
def test_a_cause_of_several_lines(frames: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Every line of it is shown, as lines and above the table; what failed while it was stopped, too."""
    console = Console(file=io.StringIO(), force_terminal=False, width=120)
    with LineView("logs") as lines, TableView("logs", console) as table:
        for state in ("backing-off", "stopped"):
            capsys.readouterr()
            console.file.truncate(0)
            for view in (lines, table):
                view.event(UnitChanged(105.0, UNIT, state, MISFIT, frames))
            shown = capsys.readouterr().out, str(console.file.getvalue())  # type: ignore[attr-defined]
            for text in shown:
                assert all(line.strip() in text for line in MISFIT.splitlines()), (state, text)


class Screen(io.StringIO):
    """A terminal as far as the live table uses one: lines, the cursor's movements, and lines that are erased.

    Arguments:
        height: in lines; what scrolls off above cannot be changed any more.
    """

    def __init__(self, height: int) -> None:
        super().__init__()
        self.height = height
        self.lines = [""]
        self.row = self.column = 0

    def write(self, text: str) -> int:
        """Show text, control sequences carried out."""
        for match in re.finditer(r"\x1b\[\??([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+", text):
            shown = match[0]
            if shown == "\r":
                self.column = 0
            elif shown == "\n":
                self.row, self.column = self.row + 1, 0
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif match[2] == "A":
                self.row = max(self.row - int(match[1] or 1), len(self.lines) - self.height, 0)
            elif match[2] == "K":
                self.lines[self.row] = ""
            elif match[2] is None:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + shown + line[self.column + len(shown) :]
                self.column += len(shown)
        return len(text)

    def isatty(self) -> bool:
        """It is one."""
        return True


class Rows:
    """Rows of a batch, as far as the terminal sink asks for them."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self.schema = StructType([StructField("number", LongType())])

    def limit(self, count: int) -> Rows:
        """The first ones."""
        return Rows(*self.numbers[:count])

    def collect(self) -> list[Row]:
        """All."""
        return [Row(number=number) for number in self.numbers]


def test_rows_of_the_terminal_sink_stand_above_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, in whatever thread they come while the table is drawn; of the table there is one copy."""
    screen = Screen(height=24)
    monkeypatch.setattr(sys, "stdout", screen)
    view = TableView("app/logs", Console(width=80, height=24, force_terminal=True, color_system=None))
    write = TerminalWriter("board", view.print_line)
    with view:
        for number, event in enumerate(STORY[:5]):
            view.event(event)
            batches = [threading.Thread(target=write, args=(Rows(*range(20)), number * 2 + half)) for half in (0, 1)]
            for thread in batches:
                thread.start()
            view._live.refresh()  # as it does twice a second
            for thread in batches:
                thread.join()
    shown = "\n".join(screen.lines)
    for batch in range(10):
        (_, rows) = shown.split(f"board, batch {batch}\n")
        numbers = re.findall(r"│ +(\d+) │", rows.split("└")[0])
        assert numbers == [str(number) for number in range(20)]
    assert shown.count("flights · ") == 1
