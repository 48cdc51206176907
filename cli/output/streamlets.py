"""The state and the counts of a streamlet as text, in tables and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlets.runner.events.status import StreamletStatus

_LONG = 10.0
"""Seconds after which the age of a running batch is shown."""


def state(streamlet: StreamletStatus, now: float) -> str:
    """Return a streamlet's state, or what it waits for, with the age of a long batch or the time until its restart.

    Arguments:
        now: the current time in seconds since the epoch.
    """
    from streamlets.runner.events.lines import span

    shown = streamlet.waiting or streamlet.state
    if streamlet.running is not None:
        seconds = now - streamlet.running.since
        if streamlet.stuck:
            return f"{shown}, stuck {span(seconds)}"
        return f"{shown}, batch {span(seconds)}" if seconds >= _LONG else shown
    if streamlet.state == "backing-off" and streamlet.retry_at is not None:
        return f"{shown}, {span(streamlet.retry_at - now)}"
    return shown


def rows(streamlet: StreamletStatus) -> str:
    """Return how many rows a streamlet has read and written since the run started, and its backlog."""
    text = f"{streamlet.rows_in:,} rows in"
    text += "".join(f", {count:,} to {outlet}" for outlet, count in sorted(streamlet.rows_out.items()))
    if streamlet.dead_letters:
        text += f", {streamlet.dead_letters:,} dead letters"
    if streamlet.late:
        text += f", {streamlet.late:,} late"
    return text + (f", backlog {streamlet.backlog:,}" if streamlet.backlog else "")
