"""Backlog and batch age of the queries of a run, measured from outside the queries.

Positions are read from the checkpoints and records are counted in the topics, in the runner's process and without
Spark. So they are also known for a query that hangs, waits for its restart, has failed, or runs in another process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.plan import ApplicationPlan, InletPlan, StreamletPlan
from blueprint.trigger import ProcessingTime, RealTime
from streamlets.channels.base import Lag, Position, TopicDamagedError, TopicLostError
from streamlets.runner.checkpoints.checkpoint import Checkpoint, latest, read_checkpoint
from streamlets.runner.events.status import RESTING, UP, RunStatus, UnitId, UnitStatus
from streamlets.runner.events.unit_events import UnitMeasured, UnitOverdue
from streamlets.runner.periodic import repeating
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Overlong, Seen
from streamlets.runner.topics import channels_of

EVERY = 5.0
"""Seconds between two measurements. For an idle query, one costs two directory listings and a check of each topic."""

_Batch = tuple[int, float]

_SAME = 1.0
"""Seconds by which two measurements of one time may differ."""

_TRIGGERS = 3
"""The triggers, or usual waits, after which a unit is overdue if they are longer than its `patience`."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """Records that wait for a batch of a unit.

    Arguments:
        done: what the unit has done before: the number of its last batch, and its rows.
        since: since when they wait and no batch runs, on the timer.
        longest: the seconds of the longest wait so far that ended with a batch.
    """

    done: tuple[int | None, int, int]
    since: float
    longest: float = 0.0


class Observer:
    """Measures the units of a run and reports changes.

    Arguments:
        status: returns the current status of the run.
        report: takes a fact for each change.
        clock: seconds since the epoch, for the time of events.
        timer: seconds of a monotonic clock, for the age of batches.
        channel_clock: the clock by which channels compute the age of records.
    """

    def __init__(
        self,
        plan: ApplicationPlan,
        state: StateDirectory,
        status: Callable[[], RunStatus],
        report: Callable[[Fact], None],
        clock: Callable[[], float],
        timer: Callable[[], float] = time.monotonic,
        channel_clock: Callable[[], float] = time.time,
    ) -> None:
        channels = channels_of(plan, state)
        self._plan, self._checkpoints = plan, state.checkpoints
        self._topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
        self._status, self._report, self._clock = status, report, clock
        self._read: dict[Path, tuple[tuple[int | None, int | None], Checkpoint]] = {}
        self._timer, self._channel_clock = timer, channel_clock
        self._seen: dict[UnitId, tuple[_Batch, float]] = {}  # the running batch, and the timer when it began
        self._overlong: dict[UnitId, _Batch] = {}
        self._waits: dict[UnitId, _Wait] = {}

    def look(self) -> None:
        """Measure every unit once."""
        status = self._status()
        for streamlet in self._plan.streamlets:
            units = [unit for id, unit in status.units.items() if id.streamlet == streamlet.ref]
            unread = {inlet.name for inlet in streamlet.inlets}
            for unit in units:
                backlog, batch = self._measure(streamlet, tuple(self._checkpoints_of(unit)))
                unread -= set(backlog)
                if unit is units[-1]:  # the last unit also counts inlets that no unit has started to read
                    backlog |= self._backlog_from_start(inlet for inlet in streamlet.inlets if inlet.name in unread)
                self._report_changes(streamlet, unit, backlog, batch)

    def _report_changes(
        self, streamlet: StreamletPlan, unit: UnitStatus, backlog: dict[str, Lag], planned: _Batch | None
    ) -> None:
        known = (unit.running.number, unit.running.since) if unit.running is not None else None
        running = None
        if planned is not None and unit.state in UP:
            # A replayed batch was planned by an earlier run of the unit.
            running = known if known and known[0] == planned[0] else (planned[0], max(planned[1], unit.since))
        measured = {
            inlet.name: backlog[inlet.name].records if inlet.name in backlog else None for inlet in streamlet.inlets
        }
        oldest = self._oldest(backlog)
        if (
            running != known
            or any(unit.backlog.get(inlet) != records for inlet, records in measured.items())
            or any(abs(unit.oldest_unread.get(inlet, 0.0) - time) > _SAME for inlet, time in oldest.items())
        ):
            self._report(Seen(UnitMeasured(self._clock(), unit.unit, measured, running, oldest=oldest)))
        waiting = 0 if running is not None else sum(lag.records for lag in backlog.values())
        self._look_for_overdue(streamlet, unit, waiting)
        if running is None or self._overlong.get(unit.unit) == running:
            return
        if self._seen.get(unit.unit, (None, 0.0))[0] != running:
            self._seen[unit.unit] = running, self._timer() - max(0.0, self._clock() - running[1])
        if self._timer() - self._seen[unit.unit][1] >= streamlet.settings.stuck_after.seconds:
            self._overlong[unit.unit] = running
            self._report(Overlong(unit.unit, *running, restart=streamlet.settings.restarts_stuck))

    def _oldest(self, backlog: dict[str, Lag]) -> dict[str, float]:
        """Return since when the oldest record waits, by inlet, where the channel knows it."""
        now = self._channel_clock()
        return {
            inlet: round(now - lag.seconds, 1)
            for inlet, lag in backlog.items()
            if lag.records and lag.seconds is not None
        }

    def _look_for_overdue(self, streamlet: StreamletPlan, unit: UnitStatus, records: int) -> None:
        """Report a unit once that has committed no batch for too long, though records wait and none of it runs."""
        now, done = self._timer(), (unit.batch, unit.rows_in, sum(unit.rows_out.values()))
        wait = self._waits.get(unit.unit) or _Wait(done, now)
        if wait.done != done:
            wait = _Wait(done, now, max(wait.longest, now - wait.since))
        elif not records or unit.state in RESTING or unit.waiting:
            wait = replace(wait, since=now)
        self._waits[unit.unit] = wait
        trigger = streamlet.settings.trigger
        interval = trigger.interval.seconds if isinstance(trigger, ProcessingTime | RealTime) else 0.0
        usual = max(wait.longest, interval)
        seconds = now - wait.since
        if not unit.overdue and seconds >= max(streamlet.settings.patience.seconds, _TRIGGERS * usual):
            self._report(Seen(UnitOverdue(self._clock(), unit.unit, seconds, records)))

    def _measure(
        self, streamlet: StreamletPlan, checkpoints: Iterable[Checkpoint]
    ) -> tuple[dict[str, Lag], _Batch | None]:
        """Return the uncommitted records by inlet, and the batch that is planned but not committed."""
        backlog: dict[str, Lag] = {}
        planned: list[_Batch] = []
        for checkpoint in checkpoints:
            committed = checkpoint.committed.positions if checkpoint.committed else {}
            for source, begun in (checkpoint.latest.positions if checkpoint.latest else {}).items():
                inlet = self._inlet(streamlet, source, Position(begun))
                if inlet is not None:
                    first = None if inlet.settings.starting == "earliest" else begun
                    done = committed.get(source, first)
                    reader = f"{checkpoint.name}.{source}"
                    backlog |= self._lag(inlet, Position(done) if done is not None else None, reader)
            if checkpoint.planned is not None:
                planned.append((checkpoint.planned.number, checkpoint.planned.time))
        return backlog, min(planned, key=lambda batch: batch[1], default=None)

    def _backlog_from_start(self, inlets: Iterable[InletPlan]) -> dict[str, Lag]:
        """Return the records by inlet for inlets without a committed position."""
        backlog: dict[str, Lag] = {}
        for inlet in inlets:
            if inlet.settings.starting == "earliest":
                backlog |= self._lag(inlet, None, f"{inlet.streamlet}.{inlet.name}")
        return backlog

    def _lag(self, inlet: InletPlan, position: Position | None, reader: str) -> dict[str, Lag]:
        # The query itself reports the error.
        with suppress(TopicLostError, TopicDamagedError, ValueError, KeyError, TypeError, OSError):
            return {inlet.name: self._topics[inlet.topic].lag(position, reader=reader)}
        return {}

    def _inlet(self, streamlet: StreamletPlan, source: str, position: Position) -> InletPlan | None:
        """Return the inlet that a checkpoint's source reads; if several read the same topic, the one with its name."""
        inlets = sorted(streamlet.inlets, key=lambda inlet: inlet.name != source)
        return next((inlet for inlet in inlets if self._topics[inlet.topic].owns(position)), None)

    def _checkpoints_of(self, unit: UnitStatus) -> Iterator[Checkpoint]:
        """Yield the checkpoint of a query, or of a streamlet with unknown queries all checkpoints in its directory."""
        parent = self._checkpoints / unit.unit.streamlet
        for directory in [parent / unit.unit.part] if unit.unit.part else sorted(parent.glob("*")):
            numbers = latest(directory / "offsets"), latest(directory / "commits")
            read_numbers, checkpoint = self._read.get(directory, (None, None))
            if checkpoint is None or read_numbers != numbers:
                checkpoint = read_checkpoint(directory)
                self._read[directory] = numbers, checkpoint
            yield checkpoint


def observing(observer: Observer, log: Callable[[Exception], None]) -> AbstractContextManager[None]:
    """Measure every few seconds, in a thread, until the context is left, and once more then.

    The last measurement is what the status shows after the run: it includes what units have committed as they ended.

    Arguments:
        log: takes the exceptions of a measurement; the next one may succeed.
    """

    def look(stopping: threading.Event) -> None:
        try:
            observer.look()
        except Exception as error:  # noqa: BLE001 - the run goes on without it; the next look may succeed
            log(error)

    return repeating(look, name="observer", interval=EVERY, delay=EVERY, at_end=True)
