"""The state and the counts of a streamlet as text, for tables and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.wording import counted, span

if TYPE_CHECKING:
    from streamlets.runner.events.status import StreamletStatus

_LONG = 10.0
"""Seconds after which the age of a running batch is shown."""


def state(streamlet: StreamletStatus, now: float) -> str:
    """Return a streamlet's state, or the reason why it waits, with a duration.

    That is the age of a long batch, the time until its restart, or the time that it has waited.

    Arguments:
        now: the current time in seconds since the epoch.
    """
    from streamlets.runner.events.waits import wait_text

    shown = wait_text(streamlet.waiting, streamlet.waits_since, streamlet.waits_until, now) or streamlet.state
    if streamlet.hang is not None:
        return f"{shown}, stuck {span(now - streamlet.hang.since)}"
    if streamlet.running is not None:
        seconds = now - streamlet.running.since
        if streamlet.stuck:
            return f"{shown}, stuck {span(seconds)}"
        return f"{shown}, batch {span(seconds)}" if seconds >= _LONG else shown
    if streamlet.state == "backing-off" and streamlet.retry_at is not None:
        return f"{shown}, {span(streamlet.retry_at - now)}"
    return shown


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
