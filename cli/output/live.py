"""What `flow run` shows: a live table on a terminal, a line per event, or events as JSON lines."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import click

from cli.output.batches import long_batch
from streamlets.runner.events.lines import json_line, line, lines
from streamlets.runner.events.model import (
    BatchStuck,
    CheckpointRepaired,
    Event,
    RecordsMissed,
    RowsLate,
    RunEnded,
    RunStarted,
    RunStopping,
    UnitChanged,
    UnitHeld,
    UnitProgressed,
)
from streamlets.runner.events.status import RunStatus, StreamletStatus, fold

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_BATCHES_EVERY = 5.0
"""Seconds between two lines about batches of a streamlet, where lines are shown; each says all since the last."""

_COLOURS = {
    "starting": "cyan",
    "running": "green",
    "backing-off": "yellow",
    "stopped": "dim",
    "completed": "bold green",
    "failed": "bold red",
}


class View(Protocol):
    """Shows events while it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def event(self, event: Event) -> None:
        """Show an event."""

    def print_line(self, text: str) -> None:
        """Show a line that Spark's console sink prints; may be called from any thread."""


class JsonView:
    """Events as JSON lines on the standard output; whatever else is printed goes to the standard error."""

    def __init__(self) -> None:
        self._out = sys.stdout
        self._redirected = contextlib.redirect_stdout(sys.stderr)

    def __enter__(self) -> Self:
        self._redirected.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._redirected.__exit__(kind, error, trace)

    def event(self, event: Event) -> None:
        """Print the event."""
        click.echo(json_line(event), file=self._out)

    def print_line(self, text: str) -> None:
        """Print the line."""
        click.echo(text, err=True)


class LineView:
    """A line per event; batches are summed up, for there may be many a second.

    Arguments:
        logs: the folder of the log files, as it is to be named.
    """

    def __init__(self, logs: str) -> None:
        self._logs = logs
        self._status = RunStatus()
        self._told: dict[str, tuple[float, str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def event(self, event: Event) -> None:
        """Print the event, when it is its turn."""
        self._status = fold(self._status, event)
        match event:
            case RunStarted():
                self._print(event.time, f"{line(event)}; logs in {self._logs}")
            case UnitProgressed(unit=unit):
                since, _ = self._told.get(unit.streamlet, (event.time - _BATCHES_EVERY, ""))
                if event.time - since >= _BATCHES_EVERY:
                    self._tell_rows(unit.streamlet, event.time)
            case UnitChanged(unit=unit) | BatchStuck(unit=unit):
                if isinstance(event, UnitChanged) and event.state in ("completed", "stopped", "failed"):
                    self._tell_rows(unit.streamlet, event.time)
                first, *more = lines(event)
                self._print(event.time, first)
                for text in more:
                    click.echo(f"            {text}")
            case UnitHeld() | RowsLate() | RecordsMissed() | CheckpointRepaired() | RunStopping() | RunEnded():
                self._print(event.time, line(event))

    def print_line(self, text: str) -> None:
        """Print the line."""
        click.echo(text)

    def _tell_rows(self, ref: str, now: float) -> None:
        streamlet = next((each for each in self._status.streamlets if each.ref == ref), None)
        if streamlet is None or not (streamlet.rows_in or any(streamlet.rows_out.values()) or streamlet.dead_letters):
            return
        told = rows(streamlet)  # the last batch may have read nothing and written what windows and joins held
        if self._told.get(ref, (0.0, ""))[1] != told:
            self._told[ref] = (now, told)
            self._print(now, f"{ref}: {told}")

    @staticmethod
    def _print(now: float, text: str) -> None:
        click.echo(f"{datetime.fromtimestamp(now, UTC).astimezone():%H:%M:%S}  {text}")


class TableView:
    """A table of the streamlets that is drawn anew about twice a second; failures stay above it.

    Arguments:
        logs: the folder of the log files, as it is to be named.
        console: where to draw; left out, the standard output.
    """

    def __init__(self, logs: str, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._logs = logs
        self._status = RunStatus()
        self._lock = threading.Lock()
        self._console = console or Console(highlight=False)
        self._live = Live(get_renderable=self._table, console=self._console, refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def event(self, event: Event) -> None:
        """Take the event into the table; failures, and what is said at the end, are printed above it."""
        with self._lock:
            self._status = fold(self._status, event)
        match event:
            case UnitChanged(cause=cause, state=state, paused=paused) if cause and (
                state in ("failed", "backing-off") or (state == "stopped" and not paused)
            ):
                self._print_lines(lines(event), _COLOURS[state])
            case BatchStuck():
                self._print_lines(lines(event), _COLOURS["backing-off"])
            case UnitHeld() | RowsLate() | RecordsMissed() | CheckpointRepaired() | RunStopping() | RunEnded():
                self._print(line(event))

    def print_line(self, text: str) -> None:
        """Print the line above the table."""
        self._print(text)

    def _print_lines(self, lines: Sequence[str], style: str) -> None:
        first, *more = lines
        self._print(first, style, "".join(f"\n  {text}" for text in more))

    def _print(self, text: str, style: str = "", more: str = "") -> None:
        """Print above the table, one thread at a time.

        `Console.print` computes how many lines of the table to erase before it writes. When another thread draws a
        table of another height in between, a part of the old table would stay on the screen.
        """
        from rich.text import Text

        with self._live._lock:  # noqa: SLF001 - Live draws under this lock
            self._console.print(Text.assemble((text, style), more))

    def _table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            status = self._status
        table = Table(title=f"{status.application} · {status.health} · logs in {self._logs}", title_justify="left")
        table.add_column("streamlet")
        table.add_column("state")
        for name in ("rows in", "rows out", "rows/s", "behind", "held", "late", "dead letters"):
            table.add_column(name, justify="right")
        now = time.time()
        for streamlet in status.streamlets:
            out, behind = streamlet.rows_out, streamlet.backlog
            table.add_row(
                Text(streamlet.ref),
                _state(streamlet, now),
                f"{streamlet.rows_in:,}",
                f"{sum(out.values()):,}" if out else "",
                f"{streamlet.rate(now):,.0f}",
                "" if behind is None else f"{behind:,}",
                f"{streamlet.held:,}" if streamlet.held else "",
                f"{streamlet.late:,}" if streamlet.late else "",
                f"{streamlet.dead_letters:,}" if streamlet.dead_letters else "",
            )
        return table


def _state(streamlet: StreamletStatus, now: float) -> Text:
    from rich.text import Text

    told = "paused" if streamlet.paused and streamlet.state == "stopped" else streamlet.waiting or streamlet.state
    due = [unit.retry_at for unit in streamlet.units if unit.retry_at is not None]
    shown = f"{told} {max(0, min(due) - now):.0f} s" if due and told == "backing-off" else str(told)
    if streamlet.running is not None:
        shown += long_batch(now - streamlet.running[1], stuck=streamlet.stuck)
    return Text(shown, style=_COLOURS[streamlet.state])


def rows(streamlet: StreamletStatus) -> str:
    """What a streamlet has read and written since the run began."""
    told = f"{streamlet.rows_in:,} rows in"
    told += "".join(f", {count:,} to {outlet}" for outlet, count in sorted(streamlet.rows_out.items()))
    if streamlet.dead_letters:
        told += f", {streamlet.dead_letters:,} dead letters"
    if streamlet.late:
        told += f", {streamlet.late:,} late"
    return told + (f", {streamlet.backlog:,} behind" if streamlet.backlog else "")
