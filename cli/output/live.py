"""The views of `flow run`: a live table on a terminal, a line per event, or events as JSON lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import click

from cli.output import streamlets
from cli.output.streamlet_table import STATE_STYLES, streamlet_table
from streamlets.runner.events.lines import json_line, line, lines
from streamlets.runner.events.model import (
    BatchStuck,
    CheckpointRepaired,
    Event,
    RecordsLate,
    RecordsMissed,
    RowsInState,
    RowsLate,
    RunEnded,
    RunStarted,
    RunStopping,
    SparkStarting,
    TopicDiffers,
    UnitChanged,
    UnitProgressed,
    UnitWarned,
)
from streamlets.runner.events.status import RunStatus

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from streamlets.runner.events.status import StreamletStatus

_BATCHES_EVERY = 5.0
"""Seconds between two lines about the batches of a streamlet; each line has the totals of the run."""


class View(Protocol):
    """Shows events while it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def event(self, event: Event, status: RunStatus) -> None:
        """Show an event; `status` is that of the run after it."""

    def print_line(self, text: str) -> None:
        """Show a line that Spark's console sink prints; it may be called from any thread."""


class JsonView:
    """Prints events as JSON lines on the standard output; all other output goes to the standard error."""

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

    def event(self, event: Event, status: RunStatus) -> None:
        """Print the event."""
        click.echo(json_line(event), file=self._out)

    def print_line(self, text: str) -> None:
        """Print the line."""
        click.echo(text, err=True)


class LineView:
    """Prints a line per event; batches are summed up, because there may be many per second.

    Arguments:
        logs: the directory of the log files, as it is shown.
    """

    def __init__(self, logs: str) -> None:
        self._logs = logs
        self._printed_rows: dict[str, tuple[float, str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def event(self, event: Event, status: RunStatus) -> None:
        """Print the event, unless it is a batch that the next line about its streamlet sums up, or a drain of the
        whole run."""
        match event:
            case RunStarted():
                self._print(event.time, f"{line(event)}; logs in {self._logs}")
            case UnitProgressed(unit=unit):
                since, _ = self._printed_rows.get(unit.streamlet, (event.time - _BATCHES_EVERY, ""))
                if event.time - since >= _BATCHES_EVERY:
                    self._print_rows(status.streamlet(unit.streamlet), event.time)
            case UnitChanged(state="draining", cause=""):
                pass
            case UnitChanged(unit=unit) | BatchStuck(unit=unit):
                if isinstance(event, UnitChanged) and event.state in ("completed", "paused", "stopped", "failed"):
                    self._print_rows(status.streamlet(unit.streamlet), event.time)
                first, *more = lines(event)
                self._print(event.time, first)
                for text in more:
                    click.echo(f"            {text}")
            case (
                SparkStarting() | RowsInState() | RowsLate() | RecordsLate() | RecordsMissed() | TopicDiffers()
                | CheckpointRepaired() | UnitWarned() | RunStopping() | RunEnded()
            ):  # fmt: skip
                self._print(event.time, line(event))

    def print_line(self, text: str) -> None:
        """Print the line."""
        click.echo(text)

    def _print_rows(self, streamlet: StreamletStatus, now: float) -> None:
        # A batch that read nothing may have written rows from the state of windows and joins.
        if not (streamlet.rows_in or any(streamlet.rows_out.values()) or streamlet.dead_letters):
            return
        text = streamlets.rows(streamlet)
        if self._printed_rows.get(streamlet.ref, (0.0, ""))[1] != text:
            self._printed_rows[streamlet.ref] = (now, text)
            self._print(now, f"{streamlet.ref}: {text}")

    @staticmethod
    def _print(now: float, text: str) -> None:
        click.echo(f"{datetime.fromtimestamp(now, UTC).astimezone():%H:%M:%S}  {text}")


class TableView:
    """Draws a table of the streamlets about twice a second, with the failures above it.

    Arguments:
        logs: the directory of the log files, as it is shown.
        console: where to draw; default: the standard output.
        topics: the topic that each inlet reads, by the streamlet's name and the inlet's, for a run that ends when all
            records are processed; None for any other run.
    """

    def __init__(
        self, logs: str, console: Console | None = None, *, topics: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        from rich.console import Console
        from rich.live import Live

        self._logs = logs
        self._topics = topics
        self._status = RunStatus()
        self._console = console or Console(highlight=False)
        self._live = Live(get_renderable=self._screen, console=self._console, refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def event(self, event: Event, status: RunStatus) -> None:
        """Update the table; failures, warnings and the summary are printed above it."""
        self._status = status
        match event:
            case RunStarted():
                self._print(f"logs in {self._logs}")
            case UnitChanged(cause=cause, state=state) if cause and state in ("failed", "backing-off", "stopped"):
                self._print_lines(lines(event), STATE_STYLES[state])
            case BatchStuck():
                self._print_lines(lines(event), STATE_STYLES["backing-off"])
            case (
                RowsInState() | RowsLate() | RecordsLate() | RecordsMissed() | TopicDiffers() | CheckpointRepaired()
                | UnitWarned() | RunStopping() | RunEnded()
            ):  # fmt: skip
                self._print(line(event))

    def print_line(self, text: str) -> None:
        """Print the line above the table."""
        self._print(text)

    def _print_lines(self, lines: Sequence[str], style: str) -> None:
        first, *more = lines
        self._print(first, style, "".join(f"\n  {text}" for text in more))

    def _print(self, text: str, style: str = "", more: str = "") -> None:
        """Print above the table, one thread at a time.

        `Console.print` computes how many lines of the table to erase before it writes. If another thread drew a table
        of another height in between, a part of the old table would remain on the screen.
        """
        from rich.text import Text

        with self._live._lock:  # noqa: SLF001 - Live draws under this lock
            self._console.print(Text.assemble((text, style), more))

    def _screen(self) -> Group:
        """Return what is drawn: how the run is, the table, and what remains to be done in a bounded run."""
        from rich.console import Group
        from rich.text import Text

        status, now = self._status, time.time()  # the thread of the run may replace the status
        parts: list[Text | Table] = [Text(_headline(status, now), style="bold")]
        if status.order:
            bounded, width = self._topics is not None, self._console.width
            parts.append(streamlet_table(status, now, width, bounded=bounded))
        if self._topics is not None and (rest := _rest(status, self._topics)):
            parts.append(Text(rest))
        return Group(*parts)


def _headline(status: RunStatus, now: float) -> str:
    """Return the application, how it is, since when it runs, and what Ctrl-C does."""
    from streamlets.runner.events.lines import span

    if not status.application:
        return "starting"
    elapsed = span((status.ended or now) - status.started)
    if status.ended is not None:
        return f"{status.application} ended after {elapsed}"
    key = {"": "drains it", "draining": "again stops it at once"}.get(status.stopping)
    return f"{status.application} is {status.health}, up for {elapsed}" + (f"; Ctrl-C {key}" if key else "")


def _rest(status: RunStatus, topics: Mapping[tuple[str, str], str]) -> str:
    """Return how many records the readers of each topic have not committed, as far as known."""
    left: dict[str, int] = {}
    for id, unit in status.units.items():
        for inlet, count in unit.backlog.items():
            topic = topics.get((id.streamlet, inlet), inlet)
            left[topic] = max(left.get(topic, 0), count)
    counts = ", ".join(f"{count:,} of {topic}" for topic, count in left.items() if count)
    return f"records left: {counts}" if counts else ""
