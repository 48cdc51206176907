"""The state and the counts of streamlets as text: the table of `flow run` and `flow status`, and lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blueprint.wording import counted, span

if TYPE_CHECKING:
    from streamlets.runner.events.status import RunStatus, StreamletStatus

_LONG = 10.0
"""Seconds after which the age of a running batch is shown."""

_ALWAYS_SHOWN = ("streamlet", "state", "last state", "in", "out")
"""Columns that are shown even if all their cells are empty."""

_ENDED = ("paused", "stopped", "completed", "failed")
"""States in which nothing is processed, so there is no rate."""


def state(streamlet: StreamletStatus, now: float) -> str:
    """Return a streamlet's state, or what it waits for, with the age of a long batch, the time until its restart, or
    the time that it has waited.

    Arguments:
        now: the current time in seconds since the epoch.
    """
    from streamlets.runner.events.status import wait_text

    shown = wait_text(streamlet.waiting, streamlet.waits_since, streamlet.waits_until, now) or streamlet.state
    if streamlet.running is not None:
        seconds = now - streamlet.running.since
        if streamlet.stuck:
            return f"{shown}, stuck {span(seconds)}"
        return f"{shown}, batch {span(seconds)}" if seconds >= _LONG else shown
    if streamlet.state == "backing-off" and streamlet.retry_at is not None:
        return f"{shown}, {span(streamlet.retry_at - now)}"
    return shown


def columns(
    status: RunStatus,
    now: float,
    *,
    live: bool = True,
    bounded: bool = False,
    number: Callable[[int], str] = "{:,}".format,
) -> tuple[list[str], list[list[str]]]:
    """Return the headings of the table of streamlets, and its rows; columns without content are omitted.

    Arguments:
        status: the status of the run.
        now: the time of the status in seconds since the epoch.
        live: whether the run is alive.
        bounded: whether it ends when all records are processed, so that the rest takes a time that can be estimated.
        number: formats a count.
    """
    headings = [
        "streamlet",
        "state" if live else "last state",
        "for",
        "in",
        "out",
        "rows/s",
        "backlog",
        "oldest task",
        "time left",
        "state rows",
        "restarts",
        "late",
        "dead letters",
        "failed tasks",
    ]
    rows = [_row(streamlet, now, live, bounded, number) for streamlet in status.streamlets]
    shown = [
        index
        for index, heading in enumerate(headings)
        if heading in _ALWAYS_SHOWN or any(row[index] for row in rows)
    ]  # fmt: skip
    return [headings[index] for index in shown], [[row[index] for index in shown] for row in rows]


def _row(streamlet: StreamletStatus, now: float, live: bool, bounded: bool, number: Callable[[int], str]) -> list[str]:
    """Return the cells of a streamlet; those of counts that are 0 are empty, except for rows."""

    working = live and streamlet.state not in _ENDED
    rate = streamlet.rate(now) if working else 0.0
    left = streamlet.backlog / rate if bounded and streamlet.backlog and rate else None
    oldest = streamlet.tasks.oldest if streamlet.tasks is not None else None

    def positive(count: int) -> str:
        return number(count) if count else ""

    return [
        streamlet.ref,
        state(streamlet, now),
        span(now - streamlet.since) if live and streamlet.units else "",
        number(streamlet.rows_in),
        number(sum(streamlet.rows_out.values())) if streamlet.rows_out else "",
        positive(round(rate)),
        positive(streamlet.backlog or 0),
        span(max(0.0, now - oldest)) if oldest is not None else "",
        span(left) if left is not None else "",
        positive(streamlet.pending_rows),
        positive(streamlet.restarts),
        positive(streamlet.late),
        positive(streamlet.dead_letters),
        positive(streamlet.tasks.failed if streamlet.tasks is not None else 0),
    ]


def short(count: int) -> str:
    """Return a count in at most four characters and a unit of thousands, for narrow tables: `336k`, `12.5M`."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= 10 * size:
            return f"{count // size:,}{unit}"
        if count >= size:
            return f"{count // (size // 10) / 10:g}{unit}"
    return str(count)


def rows(streamlet: StreamletStatus) -> str:
    """Return how many rows a streamlet has read and written since the run started, and its backlog."""
    text = f"{counted(streamlet.rows_in, 'row')} in"
    text += "".join(f", {written:,} to {outlet}" for outlet, written in sorted(streamlet.rows_out.items()))
    if streamlet.dead_letters:
        text += f", {counted(streamlet.dead_letters, 'dead letter')}"
    if streamlet.late:
        text += f", {streamlet.late:,} late"
    return text + (f", backlog {streamlet.backlog:,}" if streamlet.backlog else "")
