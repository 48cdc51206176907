"""`health_of`: how the streamlets of a run are, judged from its status alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blueprint.wording import counted, span
from streamlets.runner.events.status import RESTING, RunStatus, StreamletStatus

Health = Literal["healthy", "overdue", "stuck", "failed", "lost"]

HEALTHS: tuple[Health, ...] = ("healthy", "overdue", "stuck", "failed", "lost")
"""From the best to the worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamletHealth:
    """How a streamlet is.

    Arguments:
        ref: the name of the streamlet.
        health: `overdue` if records wait and no batch is committed, `stuck` if a batch runs for too long or a
            unit without batches does not go on, `failed` if
            it failed for good, `lost` if the process of the run has exited, or its own has and is not replaced yet.
        reason: why, in one line; "" if there is nothing to report.
        since: since when it is in its state, its batch runs, or nothing is known of it; None before its first state.
        seconds: the time since then.
    """

    ref: str
    health: Health
    reason: str = ""
    since: float | None = None
    seconds: float = 0.0

    def data(self) -> dict[str, object]:
        """Return it as data for JSON."""
        return {
            "streamlet": self.ref, "health": self.health, "reason": self.reason, "seconds": round(self.seconds, 1)
        }  # fmt: skip


def health_of(status: RunStatus, now: float, *, lost: str = "", silence: float = 0.0) -> tuple[StreamletHealth, ...]:
    """Return the health of each streamlet, producers first.

    Arguments:
        status: the status of the run.
        now: when it was written, on the clock of the runner, which also set all times in it.
        lost: why the run cannot do anything any more, if so.
        silence: the seconds that have passed since `now`, if it is lost.
    """
    return tuple(_judged(streamlet, now, lost, silence) for streamlet in status.streamlets)


def _judged(streamlet: StreamletStatus, now: float, lost: str, silence: float) -> StreamletHealth:
    health, reason = _verdict(streamlet, now, lost)
    began = (streamlet.hang or streamlet.running) if health == "stuck" else None
    since: float | None = began.since if began is not None else streamlet.since
    if health == "lost" and not any(unit.lost for unit in streamlet.units):
        since = now  # its last sign of life
    seconds = now + (silence if lost else 0.0) - since if since else 0.0
    return StreamletHealth(ref=streamlet.ref, health=health, reason=reason, since=since, seconds=seconds)


def _verdict(streamlet: StreamletStatus, now: float, lost: str) -> tuple[Health, str]:
    failed = [unit for unit in streamlet.units if unit.state == "failed"]
    if failed:
        return "failed", _first_line(failed[0].cause)
    if lost and streamlet.state not in RESTING:
        return "lost", f"it was {streamlet.state}; {lost}"
    if gone := [unit for unit in streamlet.units if unit.lost]:
        return "lost", _first_line(gone[0].cause)
    if (hang := streamlet.hang) is not None:
        where = f" at {hang.where[-1]}" if hang.where else ""
        return "stuck", f"{hang.what} for {span(now - hang.since)}{where}"
    batch = streamlet.running
    if streamlet.stuck and batch is not None:
        where = f" at {batch.where[0]}" if batch.where else ""
        return "stuck", f"batch {batch.number} has been running for {span(now - batch.since)}{where}"
    cause = _first_line(streamlet.cause)
    if any(unit.overdue for unit in streamlet.units):
        waiting = counted(streamlet.backlog or 0, "record waits", "records wait")
        return "overdue", f"{waiting}, and no batch is committed" + (f": {cause}" if cause else "")
    return "healthy", streamlet.waiting or cause or ("" if streamlet.state == "running" else streamlet.state)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
