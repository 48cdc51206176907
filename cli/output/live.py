"""The views of `flow run`: a live table on a terminal, a line per event, or events as JSON lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

import click

from blueprint.wording import span
from cli.output import streamlets
from cli.output.streamlet_table import fitted
from streamlets.runner.events.event import Event, Importance, UnitEvent, json_text
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RESTING, RunStatus
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.events.view import View

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from streamlets.runner.events.status import StreamletStatus

_BATCHES_EVERY = 5.0
"""Seconds between two lines about the batches of a streamlet; each line has the totals of the run."""

_STYLES = {Importance.WARNING: "yellow", Importance.ERROR: "bold red"}
"""The styles of events above the table."""


class JsonView(View):
    """Writes events as JSON lines to a file, or to the standard output; then other output goes to standard error.

    Arguments:
        file: is appended to; default: the standard output.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._out: TextIO = sys.stdout
        self._opened = contextlib.ExitStack()
        self.on_stdout = file is None

    def __enter__(self) -> Self:
        if self._file is None:
            self._opened.enter_context(contextlib.redirect_stdout(sys.stderr))
        else:
            self._out = self._opened.enter_context(self._file.open("a", encoding="utf-8", buffering=1))
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def event(self, event: Event, status: RunStatus) -> None:
        """Print the event."""
        click.echo(json_text(event.data()), file=self._out)

    def print_line(self, text: str) -> None:
        """Print the line."""
        click.echo(text, err=True)


class LineView(View):
    """Prints a line per event; batches are summed up, because there may be many per second.

    Arguments:
        logs: the directory of the log files, as it is shown.
    """

    on_stdout = True

    def __init__(self, logs: str) -> None:
        self._logs = logs
        self._printed_rows: dict[str, tuple[float, str]] = {}

    def event(self, event: Event, status: RunStatus) -> None:
        """Print the event; a batch is summed up by the next line about its streamlet."""
        streamlet = status.streamlet(event.unit.streamlet) if isinstance(event, UnitEvent) else None
        if streamlet is not None and isinstance(event, UnitProgressed):
            since, _ = self._printed_rows.get(streamlet.ref, (event.time - _BATCHES_EVERY, ""))
            if event.time - since >= _BATCHES_EVERY:
                self._print_rows(streamlet, event.time)
        if event.importance < Importance.STEP:
            return
        if streamlet is not None and isinstance(event, UnitChanged) and event.state in RESTING:
            self._print_rows(streamlet, event.time)
        first, *more = event.lines
        self._print(event.time, f"{first}; logs in {self._logs}" if isinstance(event, RunStarted) else first)
        for text in more:
            click.echo(f"            {text}")

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


class TableView(View):
    """Draws a table of the streamlets about twice a second, with the failures above it.

    Arguments:
        logs: the directory of the log files, as it is shown.
        console: where to draw; default: the standard output.
        topics: the topic that each inlet reads, by the streamlet's name and the inlet's, for a run that ends when all
            records are processed; None for any other run.
    """

    on_stdout = True

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

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def event(self, event: Event, status: RunStatus) -> None:
        """Update the table; failures, warnings and the summary are printed above it."""
        self._status = status
        if isinstance(event, RunStarted):
            self._print(f"logs in {self._logs}")
        elif event.importance >= Importance.NOTICE:
            first, *more = event.lines
            self._print(first, _STYLES.get(event.importance, ""), "".join(f"\n  {text}" for text in more))

    def print_line(self, text: str) -> None:
        """Print the line above the table."""
        self._print(text)

    def _print(self, text: str, style: str = "", more: str = "") -> None:
        """Print above the table, one thread at a time.

        `Console.print` computes how many lines of the table to erase before it writes. If another thread drew a table
        of another height in between, a part of the old table would remain on the screen.
        """
        from rich.text import Text

        with self._live._lock:  # noqa: SLF001 - Live draws under this lock
            self._console.print(Text.assemble((text, style), more))

    def _screen(self) -> Group:
        """Return the drawn screen: the state of the run, the table, and the remaining work of a bounded run."""
        from rich.console import Group
        from rich.text import Text

        status, now = self._status, time.time()  # the thread of the run may replace the status
        parts: list[Text | Table] = [Text(_headline(status, now), style="bold")]
        if status.order:
            bounded, width = self._topics is not None, self._console.width
            parts.append(fitted(status, now, width, bounded=bounded))
        if self._topics is not None and (rest := _rest(status, self._topics)):
            parts.append(Text(rest))
        return Group(*parts)


def _headline(status: RunStatus, now: float) -> str:
    """Return the application, how it is, since when it runs, and what Ctrl-C does."""

    if not status.application:
        return "starting"
    elapsed = span((status.ended or now) - status.started)
    if status.ended is not None:
        return f"{status.application} ended after {elapsed}"
    key = {"": "drains it", "draining": "again stops it at once"}.get(status.stopping)
    return f"{status.application} is {status.health}, up for {elapsed}" + (f"; Ctrl-C {key}" if key else "")


def _rest(status: RunStatus, topics: Mapping[tuple[str, str], str]) -> str:
    """Return the known numbers of records that the readers of each topic have not committed."""
    left: dict[str, int] = {}
    for id, unit in status.units.items():
        for inlet, count in unit.backlog.items():
            topic = topics.get((id.streamlet, inlet), inlet)
            left[topic] = max(left.get(topic, 0), count)
    counts = ", ".join(f"{count:,} of {topic}" for topic, count in left.items() if count)
    return f"records left: {counts}" if counts else ""
