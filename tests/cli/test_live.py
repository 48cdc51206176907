"""The views of `flow run`: lines, JSON, and the table on a terminal."""

from __future__ import annotations

import io
import json
import re
import sys
import threading
import time
from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from pyspark.sql import Row
from pyspark.sql.types import LongType, StructField, StructType
from rich.console import Console

from cli.output import live, streamlet_table
from cli.output.live import JsonView, LineView, TableView
from cli.output.streamlets import short
from streamlets.egress.terminal import TerminalWriter
from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.record_events import RecordsLate, RecordsMissed, RowsInState, RowsLate
from streamlets.runner.events.run_events import RunEnded, RunStarted, RunStopping, SparkStarting
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import (
    BatchStuck,
    CheckpointRepaired,
    UnitChanged,
    UnitMeasured,
    UnitProgressed,
    UnitWarned,
)
from streamlets.runner.events.view import View
from streamlets.runner.units.spark_keeper import how_it_ended
from tests.pages import blocks

UNIT = UnitId("delays", "out")
LATE = "the watermark dropped at least 3 late rows since the start (Spark counts them after partial aggregation)"
EVENTS: list[Event] = [
    RunStarted(100.0, "flights", ("delays", "board")),
    UnitChanged(101.0, UNIT, "starting"),
    UnitChanged(102.0, UNIT, "running"),
    UnitProgressed(103.0, UNIT, 0, 1000, {"out": 900}, dead_letters=4, late=2, backlog={"in": 5000}, pending_rows=7),
    UnitProgressed(104.0, UNIT, 1, 1000, {"out": 900}, late=1, backlog={"in": 4000}, pending_rows=9),
    UnitChanged(105.0, UNIT, "backing-off", "sink down", ("delays.py:7 in each",), retry_in=8.0),
    UnitChanged(113.0, UNIT, "starting"),
    UnitChanged(114.0, UNIT, "completed"),
    RowsInState(115.0, UNIT, "aggregation", 9, "windows open"),
    RowsLate(116.0, UNIT, 3),
    RunEnded(116.0, 0, ""),
]


def show(events: Iterable[Event], *views: View, status: RunStatus | None = None) -> RunStatus:
    """Pass events to views, with the status after each; return the last status."""
    status = status or RunStatus()
    for event in events:
        status = fold(status, event)
        for view in views:
            view.event(event, status)
    return status


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Each event is a line with the time; batches are summed up, and a failure has its frames."""
    with LineView("app/logs") as view:
        show([EVENTS[0], SparkStarting(100.0, ("delays", "board")), *EVENTS[1:]], view)
        view.print_line("from the console sink")
    lines = [line[10:] if line[2:3] == ":" else line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "flights: started with 2 streamlets; logs in app/logs",
        "starting Spark for delays, board",
        "delays.out: starting",
        "delays.out: running",
        "delays: 1,000 rows in, 900 to out, 4 dead letters, 2 late, backlog 5,000",
        "delays.out: backing-off, restart in 8.0 s",
        "at delays.py:7 in each",
        "sink down",
        "delays.out: starting",
        "delays: 2,000 rows in, 1,800 to out, 4 dead letters, 3 late, backlog 4,000",
        "delays.out: completed",
        "delays.out: 9 rows remain in state: aggregation (windows open)",
        f"delays.out: {LATE}",
        "ended: all done (exit code 0)",
        "from the console sink",
    ]


def _rows_of_flights() -> list[Event]:
    """Return the events of the run in README.md."""
    flights, splitter = UnitId("flights", "flights"), UnitId("splitter", "out")
    refs = ("flights", "weather", "splitter", "join", "delays", "board", "archive", "grounded", "rejects")
    split = {"flown": 327_346, "cancelled": 8_255, "invalid": 1_175}
    windows = "windows open from 2013-12-30 21:00:00 to 2013-12-31 00:00:00 UTC"
    return [
        RunStarted(1.0, "flights", refs),
        UnitChanged(1.0, flights, "running"),
        UnitChanged(1.0, splitter, "running"),
        UnitProgressed(2.0, flights, 0, 336_776, {"flights": 336_776}),
        UnitProgressed(3.0, splitter, 0, 336_776, split),
        RowsInState(4.0, UnitId("delays", "delays"), "aggregation", 33, windows),
        RunEnded(5.0, 0, ""),
    ]


_STUCK = ("shop/store.py:21 in store", "shop/store.py:27 in wait_for_the_database")
_IN_EURO = ("shop/prices.py:31 in in_euro",)
_DIVISION = "ZeroDivisionError: division by zero"
_KILLED = f"its driver process exited ({how_it_ended(-9)})"
_ON_PAGES: dict[str, list[Event]] = {
    "README.md": _rows_of_flights(),
    "docs/running.md": [
        BatchStuck(time=1.0, unit=UnitId("hang", "out"), batch=2, since=0.0, seconds=602.0, frames=_STUCK),
        UnitChanged(2.0, UnitId("prices", "out"), "backing-off", _DIVISION, _IN_EURO, retry_in=1.0),
    ],
    "docs/isolation.md": [UnitChanged(1.0, UnitId("join", ""), "backing-off", _KILLED, retry_in=1.0)],
}


@pytest.mark.parametrize("page", _ON_PAGES)
def test_the_lines_on_pages(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of runs that pages show are those of events, which may have others in between, and other times."""
    with LineView(".flow/flights/logs") as view:
        show(_ON_PAGES[page], view)
    printed = iter(re.sub(r"(?m)^[\d:]{8}", "TIME", capsys.readouterr().out).splitlines())
    shown = [block for block in blocks(page, "text") if re.match(r"[\d:]{8}  ", block)]
    for text in re.sub(r"(?m)^[\d:]{8}", "TIME", "".join(shown)).splitlines():
        assert text == "..." or text in printed, text


def test_rows_of_a_last_batch_that_read_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows from the state of windows and joins are shown although the batch read none, and they are shown once."""
    events: list[Event] = [
        RunStarted(100.0, "flights", ("delays",)),
        UnitChanged(101.0, UNIT, "running"),
        UnitProgressed(102.0, UNIT, 0, 1000, {"out": 0}),
        UnitProgressed(103.0, UNIT, 1, 0, {"out": 70}),
        UnitChanged(104.0, UNIT, "completed"),
        UnitChanged(105.0, UNIT, "completed"),
    ]
    with LineView("app/logs") as view:
        show(events, view)
    lines = [line[10:] for line in capsys.readouterr().out.splitlines() if "rows in" in line]
    assert lines == ["delays: 1,000 rows in, 0 to out", "delays: 1,000 rows in, 70 to out"]


def test_progress_without_batches(capsys: pytest.CaptureFixture[str]) -> None:
    """A unit that reads nothing and has no batches is shown with the rows that it writes, and their rate."""
    unit = UnitId("clicks")
    now = time.time()
    progress = UnitProgressed(now, unit, None, 0, {"out": 50})
    assert progress.line == "clicks: 0 in, 50 to out"
    out = io.StringIO()
    events: list[Event] = [RunStarted(now, "shop", ("clicks",)), UnitChanged(now, unit, "running"), progress]
    with LineView("logs") as lines, TableView("logs", Console(file=out, width=100, force_terminal=True)) as table:
        show(events, lines, table)
    assert capsys.readouterr().out.splitlines()[-1][10:] == "clicks: 0 rows in, 50 to out"
    row = [shown for shown in out.getvalue().splitlines() if "clicks" in shown][-1]
    cells = re.split(r"  +", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", row).strip())
    assert (cells[:2], cells[3:5]) == (["clicks", "running"], ["0", "50"])
    assert float(cells[5]) > 0


def test_the_standard_output_has_only_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is an event; output of streamlets and Spark goes to the standard error."""
    with JsonView() as view:
        show(EVENTS, view)
        print("an author's print")
        view.print_line("from the console sink")
    out, err = capsys.readouterr()
    kinds = [json.loads(line)["event"] for line in out.splitlines()]
    assert (len(kinds), kinds[0], kinds[-1]) == (len(EVENTS), "run-started", "run-ended")
    assert err == "an author's print\nfrom the console sink\n"


def test_table() -> None:
    """The table shows state, rows, backlog, state rows and dead letters; failures are above it."""
    out = io.StringIO()
    view = TableView("app/logs", Console(file=out, width=100, force_terminal=True, color_system=None))
    with view:
        show(EVENTS[:6], view)
    shown = out.getvalue()
    assert shown.index("delays.out: backing-off, restart in 8.0 s") < shown.index("at delays.py:7 in each")
    assert shown.index("at delays.py:7 in each") < shown.index("sink down")
    (row,) = [line for line in shown.splitlines()[-6:] if "delays" in line]
    cells = re.split(r"  +", row.strip())
    assert cells[1].startswith("backing-off")
    assert cells[3:] == ["2,000", "1,800", "4,000", "9", "3", "4"]


RUNNING = [UnitChanged(100.0, UNIT, "running"), UnitMeasured(100.0, UNIT, {}, (4, 100.0))]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([SparkStarting(100.0, ("delays",))], "starting Spark"),
        ([UnitChanged(100.0, UNIT, "starting", waiting="waiting for clicks")], "waiting for clicks"),
        (RUNNING, "running, batch 2 h"),
        ([*RUNNING, BatchStuck(time=7000.0, unit=UNIT, batch=4, since=100.0, seconds=6900.0)], "running, stuck 2 h"),
    ],
)
def test_the_table_shows_what_a_streamlet_waits_for(
    events: list[Event], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For Spark, for its producers, or for a batch that takes long."""
    monkeypatch.setattr(live, "time", SimpleNamespace(time=lambda: 7300.0))
    out = io.StringIO()
    with TableView("app/logs", Console(file=out, width=100, force_terminal=True, color_system=None)) as view:
        show([RunStarted(100.0, "flights", ("delays",)), *events], view)
    row = [line for line in out.getvalue().splitlines() if "delays" in line][-1]
    assert re.split(r"  +", row.strip())[:2] == ["delays", expected]


def screen(events: Iterable[Event], now: float, width: int = 80, bounded: bool = False) -> list[str]:
    """Return what is on a terminal after some events, without empty lines."""
    out = io.StringIO()
    topics = {("delays", "in"): "flown"} if bounded else None
    view = TableView("app/logs", Console(file=out, width=width), topics=topics)
    show(events, view)
    out.truncate(0)
    out.seek(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "time", SimpleNamespace(time=lambda: now))
        view._console.print(view._screen())
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_bounded_run_shows_what_is_left() -> None:
    """The records by topic, the time that a streamlet needs for them, and how long the run has taken."""
    shown = screen(EVENTS[:5], 104.0, bounded=True)
    assert shown[0] == "flights is running, up for 4 s; Ctrl-C drains it"
    assert re.split(r"  +", shown[2].strip()) == [
        "streamlet", "state", "for", "in", "out", "rows/s", "backlog", "left", "rows", "late", "letters",
    ]  # fmt: skip
    cells = re.split(r"  +", shown[3].strip())
    assert cells == ["delays", "running", "2 s", "2k", "1.8k", "2k", "4k", "2 s", "9", "3", "4"]
    assert shown[-1] == "records left: 4,000 of flown"
    assert not any("left" in line for line in screen(EVENTS[:5], 104.0))


def test_a_column_is_one_declaration(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has its place in the table, and its rank on a narrow terminal."""
    added = streamlet_table.Column("units", lambda row: str(len(row.streamlet.units)), 5)
    monkeypatch.setattr(streamlet_table, "COLUMNS", (*streamlet_table.COLUMNS, added))
    _, _, headings, cells, *_ = screen(EVENTS[:5], 104.0, width=100)
    assert headings.endswith("letters  units") and cells.endswith(" 1")
    assert "units" not in str(screen(EVENTS[:5], 104.0, width=40))


def test_a_streamlet_that_fails_again_and_again_has_its_restarts_and_age() -> None:
    """And an ended one has no rate."""
    events = EVENTS[:7]
    shown = screen([*events, *events[5:7]], 120.0)
    assert re.split(r"  +", shown[1].strip())[:3] == ["state", "dead"] or "restarts" in shown[2]
    assert re.split(r"  +", shown[3].strip())[:3] == ["delays", "starting", "7 s"]
    assert re.split(r"  +", shown[3].strip())[-3] == "2"
    assert "rows/s" not in "".join(screen(EVENTS[:8], 114.0))


def test_what_ctrl_c_does_is_shown() -> None:
    """A first one drains, a second one ends at once, and after the end it does nothing here."""
    stopping = RunStopping(105.0, "stopped by SIGINT")
    assert screen([*EVENTS[:5], stopping], 106.0)[0] == "flights is draining, up for 6 s; Ctrl-C again stops it at once"
    at_once = RunStopping(106.0, "stopped at once by SIGINT", at_once=True)
    assert screen([*EVENTS[:5], stopping, at_once], 107.0)[0] == "flights is stopping, up for 7 s"
    assert screen(EVENTS, 120.0)[0] == "flights ended after 16 s"


@pytest.mark.parametrize("width", [32, 40, 50, 60, 70, 80, 160])
def test_nothing_is_cut_on_a_narrow_terminal(width: int) -> None:
    """Numbers become short, then the least important columns are omitted; every cell that remains is whole, and long
    names are folded."""
    unit = UnitId("average-delays-by-carrier-and-hour", "out")
    events: list[Event] = [
        RunStarted(100.0, "flights", (unit.streamlet, "board")),
        UnitChanged(101.0, unit, "running"),
        UnitProgressed(
            102.0, unit, 0, 336_776_123, {"out": 12_345_678}, dead_letters=8_255, late=1_175,
            backlog={"in": 20_000_000}, pending_rows=1_234_567,
        ),
        UnitChanged(103.0, unit, "backing-off", "sink down", retry_in=600.0),
        UnitChanged(104.0, unit, "starting"),
        UnitChanged(104.0, unit, "running"),
    ]  # fmt: skip
    shown = screen(events, 200.0, width)
    assert all(len(line) <= width and "…" not in line for line in shown)
    row = next(line for line in shown[1:] if "running" in line)
    assert re.split(r"  +", row.strip())[-1] == ("8,255" if width == 160 else "8.2k")
    assert (" 336" in row, " 20" in row) == (width >= 50, width >= 50)
    heading = next(at for at, line in enumerate(shown) if line.startswith("streamlet"))
    names = [line.split(" ")[0] for line in shown[heading + 1 :]]
    assert "".join(names) == f"{unit.streamlet}board"
    if width >= 60:
        assert all(name.endswith("-") for name in names[:-2])


def test_names_are_folded_only_after_columns_that_matter_less_are_omitted() -> None:
    """A name is what other commands need. If it has to be folded, then not inside of a word or of a time."""
    ref = "enriched_customer_orders_stream"
    unit = UnitId(ref, "out")
    events: list[Event] = [
        RunStarted(100.0, "shop", (ref,)),
        UnitChanged(101.0, unit, "running"),
        UnitProgressed(
            102.0, unit, 0, 336_776_123, {"out": 12_345_678}, backlog={"in": 20_000_000}, pending_rows=12_345
        ),
        UnitChanged(104.0, unit, "backing-off", "sink down", retry_in=612.0),
    ]  # fmt: skip
    row, rest = screen(events, 104.0, 80)[-2:]
    assert re.split(r"  +", row) == [ref, "backing-off, 10 min", "336M", "12M", "20M", "12k"]
    assert rest.strip() == "12 s"
    folded = [re.split(r"  +", line)[0] for line in screen(events, 104.0, 56)[-3:]]
    assert folded == ["enriched_", "customer_", "orders_stream"]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (8_255, "8.2k"), (336_776, "336k"), (12_345_678, "12M"), (10**13, "10T")],
)
def test_short_counts(count: int, expected: str) -> None:
    """They are rounded down, so that a rest is never shown as more than it is."""
    assert short(count) == expected


MISSED = (
    "delays.out (rows): missed 9 records of the topic rows, from a/1#0 to a/1#8, dropped by a purge "
    "before they were committed"
)
DROPPED = (
    "delays.out: batch 4: deduplication at the inlet `rows` dropped 3 late records (watermark "
    "2026-01-01T00:00:00.000Z); records other than doubles are lost: set `deduplicate.within` to at least the "
    "time by which partitions of the topic may lag behind each other"
)
WARNINGS: list[tuple[Event, list[str]]] = [
    (
        BatchStuck(time=100.0, unit=UNIT, batch=4, since=0.0, seconds=601.0, frames=("delays.py:7 in each",)),
        ["delays.out: stuck: batch 4 has been running for 10 min 1 s", "at delays.py:7 in each"],
    ),
    (
        BatchStuck(
            time=100.0,
            unit=UNIT,
            batch=4,
            since=0.0,
            seconds=60.0,
            frames=(),
            stack=("Shuffle.fetch(Shuffle.scala:3)",),
        ),
        [
            "delays.out: stuck: batch 4 has been running for 1 min",
            "none of your code is running in this process; Spark is",
            "at Shuffle.fetch(Shuffle.scala:3)",
        ],
    ),
    (
        RecordsMissed(
            time=100.0,
            topic="rows",
            reader="delays.out (rows)",
            first="a/1#0",
            last="a/1#8",
            records=9,
            cause="a purge",
        ),
        [MISSED],
    ),
    (
        RecordsLate(time=100.0, unit=UNIT, batch=4, inlet="rows", records=3, watermark="2026-01-01T00:00:00.000Z"),
        [DROPPED],
    ),
    (UnitWarned(100.0, UNIT, "in: its position cannot be stored"), ["delays.out: in: its position cannot be stored"]),
    (CheckpointRepaired(100.0, UNIT, "moved away `offsets/7`"), ["delays.out: moved away `offsets/7`"]),
    (RunStopping(100.0, "stopped by SIGTERM", within=60.0), ["draining, within 60 s: stopped by SIGTERM"]),
    (RunStopping(100.0, "stopped at once by SIGTERM", at_once=True), ["stopping at once: stopped at once by SIGTERM"]),
]


@pytest.mark.parametrize(("event", "expected"), WARNINGS)
def test_warnings_are_shown_by_both_views(
    event: Event, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Stuck batches with their frames, missed records, repaired checkpoints, and how the run is stopped."""
    console = Console(file=io.StringIO(), force_terminal=False, width=300)
    with LineView("logs") as lines:
        show([event], lines)
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [shown[0][10:], *shown[1:]] == expected
    with TableView("logs", console) as table:
        show([event], table)
    assert [line.strip() for line in str(console.file.getvalue()).splitlines()][: len(expected)] == expected  # type: ignore[attr-defined]


def test_a_drain_of_the_run_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Not one per query; the drain of a single streamlet has a line with its cause."""
    events: list[Event] = [
        UnitChanged(100.0, UNIT, "draining", "restarted by ann"),
        RunStopping(101.0, "stopped by SIGINT"),
        UnitChanged(101.0, UNIT, "draining"),
        UnitChanged(102.0, UNIT, "stopped"),
    ]
    with LineView("logs") as view:
        show(events, view)
    lines = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["delays.out: draining: restarted by ann", "draining: stopped by SIGINT", "delays.out: stopped"]


MISFIT = "ContractError: the rows do not fit the schema `Row`:\n  there is no column `x`\n  `y` is text"


@pytest.mark.parametrize("frames", [(), ("delays.py:7 in each",)])
def test_a_cause_of_several_lines(frames: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """All lines are shown by both views, also for a failure while the streamlet was being stopped."""
    console = Console(file=io.StringIO(), force_terminal=False, width=120)
    with LineView("logs") as lines, TableView("logs", console) as table:
        for state in ("backing-off", "stopped"):
            capsys.readouterr()
            console.file.truncate(0)
            show([UnitChanged(105.0, UNIT, state, MISFIT, frames)], lines, table)
            shown = capsys.readouterr().out, str(console.file.getvalue())  # type: ignore[attr-defined]
            for text in shown:
                assert all(line.strip() in text for line in MISFIT.splitlines()), (state, text)


class Screen(io.StringIO):
    """A terminal with the features that the live table uses: lines, cursor movements and erased lines.

    Arguments:
        height: in lines; lines that have scrolled off the screen cannot be changed.
    """

    def __init__(self, height: int) -> None:
        super().__init__()
        self.height = height
        self.lines = [""]
        self.row = self.column = 0

    def write(self, text: str) -> int:
        """Show text, and execute control sequences."""
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
        """Return that it is a terminal."""
        return True


class Rows:
    """The rows of a batch, with the methods that the terminal sink uses."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self.schema = StructType([StructField("number", LongType())])

    def limit(self, count: int) -> Rows:
        """Return the first rows."""
        return Rows(*self.numbers[:count])

    def collect(self) -> list[Row]:
        """Return all rows."""
        return [Row(number=number) for number in self.numbers]


def test_rows_of_the_terminal_sink_are_above_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are shown, whatever thread prints them, and the table is on the screen once."""
    screen = Screen(height=24)
    monkeypatch.setattr(sys, "stdout", screen)
    view = TableView("app/logs", Console(width=80, height=24, force_terminal=True, color_system=None))
    write = TerminalWriter("board", view.print_line)
    with view:
        status = RunStatus()
        for number, event in enumerate(EVENTS[:5]):
            status = show([event], view, status=status)
            batches = [threading.Thread(target=write, args=(Rows(*range(20)), number * 2 + half)) for half in (0, 1)]
            for thread in batches:
                thread.start()
            view._live.refresh()  # The view does this twice a second.
            for thread in batches:
                thread.join()
    shown = "\n".join(screen.lines)
    for batch in range(10):
        (_, rows) = shown.split(f"board, batch {batch}\n")
        numbers = re.findall(r"│ +(\d+) │", rows.split("└")[0])
        assert numbers == [str(number) for number in range(20)]
    assert shown.count("flights is ") == 1
