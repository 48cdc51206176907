"""`SampleView`: writes samples of a run, and its last batches, into its state directory."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Self

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.events.view import View
from streamlets.runner.periodic import repeating
from streamlets.runner.samples.batches import BatchRing
from streamlets.runner.samples.ring import FINE, RESOLUTIONS, Resolution, Ring
from streamlets.runner.samples.sample import Sample, line_of
from streamlets.runner.state_directory.directory import StateDirectory

_EARLY = 0.5
"""Seconds by which a sample may be early: a wait does not take exactly as long as requested."""


@dataclass(slots=True)
class _Level:
    """The samples of one resolution.

    Arguments:
        due: when the next one is due, on the timer.
        taken: when the last one was taken, on the timer.
        rows: the rows that each unit had read and written by then.
    """

    resolution: Resolution
    ring: Ring
    due: float
    taken: float
    rows: dict[UnitId, tuple[int, int]] = field(default_factory=dict)


class SampleView(View):
    """Keeps the last status, from which a thread of its own takes samples. If they cannot be written, they are lost.

    Arguments:
        state: the state directory of the application.
        clock: seconds since the epoch.
        timer: seconds of a clock that nobody can set, for intervals and rates.
    """

    def __init__(
        self,
        state: StateDirectory,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._status = RunStatus()
        self._clock, self._timer = clock, timer
        self._opened = ExitStack()
        self._batches = BatchRing(state)
        now = timer()
        self._levels = [
            _Level(resolution, Ring(state.samples, resolution), now + resolution.interval, now)
            for resolution in RESOLUTIONS
        ]

    def __enter__(self) -> Self:
        take = repeating(lambda _: self.take(), name="samples", interval=FINE.interval, delay=FINE.interval)
        self._opened.enter_context(take)
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()
        self._batches.write()

    def event(self, event: Event, status: RunStatus) -> None:
        """Keep the status for the next sample, and each batch."""
        self._status = status
        if isinstance(event, UnitProgressed):
            self._batches.add(event)

    def take(self) -> None:
        """Take the samples that are due, and write the batches since the last call."""
        self._batches.write()
        status, now, timer = self._status, self._clock(), self._timer()
        for level in self._levels:
            if timer < level.due - _EARLY or not status.units:
                continue
            samples = [_sample(status, id, now, timer - level.taken, level.rows.get(id, (0, 0))) for id in status.units]
            level.rows = {id: _rows(status, id) for id in status.units}
            level.taken = timer
            level.due = max(level.due + level.resolution.interval, timer)
            with suppress(OSError):
                level.ring.append(line_of(now, samples))


def _sample(status: RunStatus, id: UnitId, now: float, seconds: float, before: tuple[int, int]) -> Sample:
    unit = status.units[id]
    rows_in, rows_out = (max(0, rows - known) for rows, known in zip(_rows(status, id), before, strict=True))
    return Sample(
        time=now,
        streamlet=id.streamlet,
        query=id.part,
        rate_in=rows_in / seconds if seconds > 0 else 0.0,
        rate_out=rows_out / seconds if seconds > 0 else 0.0,
        backlog=sum(unit.backlog.values()) if unit.backlog else None,
        busy=unit.busy(now),
        watermark_delay=unit.watermark_delay(now),
        state_rows=unit.state_rows,
        batch_seconds=unit.seconds,
    )


def _rows(status: RunStatus, id: UnitId) -> tuple[int, int]:
    unit = status.units[id]
    return unit.rows_in, sum(unit.rows_out.values())
