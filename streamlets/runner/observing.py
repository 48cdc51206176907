"""Watches the queries of a run from outside: how far each is behind, and how long its batch has been running.

Positions are read from the checkpoints and records are counted in the topics, in the runner's own process and without
Spark: so they are known of a query that hangs, waits for its restart or has failed, too, and of one in another process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blueprint.plan import ApplicationPlan, InletPlan, StreamletPlan
from streamlets.channels.base import Position, TopicLostError
from streamlets.runner.checkpoints.reading import Checkpoint, latest, read_checkpoint
from streamlets.runner.events.model import UnitMeasured
from streamlets.runner.events.status import RunStatus, UnitStatus
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Overlong, Seen
from streamlets.runner.topics import channels_of

EVERY = 5.0
"""Seconds between two looks. One at a query that has done nothing costs two listings of directories, and one at each of
its topics."""

_Batch = tuple[int, float]


class Observer:
    """Measures the units of a run and reports what has changed since.

    Arguments:
        status: gives the status of the run as of now.
        report: takes facts.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        plan: ApplicationPlan,
        state: StateDirectory,
        status: Callable[[], RunStatus],
        report: Callable[[Fact], None],
        clock: Callable[[], float],
    ) -> None:
        channels = channels_of(plan, state)
        self._plan, self._checkpoints = plan, state.checkpoints
        self._topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
        self._status, self._report, self._clock = status, report, clock
        self._read: dict[Path, tuple[tuple[int | None, int | None], Checkpoint]] = {}
        self._overlong: dict[object, _Batch] = {}

    def look(self) -> None:
        """Measure every unit once."""
        status = self._status()
        for streamlet in self._plan.streamlets:
            units = [unit for id, unit in status.units.items() if id.streamlet == streamlet.ref]
            unread = {inlet.name for inlet in streamlet.inlets}
            for unit in units:
                backlog, batch = self._measure(streamlet, tuple(self._checkpoints_of(unit)))
                unread -= set(backlog)
                if unit is units[-1]:  # what none of them has begun to read
                    backlog |= self._never_read(inlet for inlet in streamlet.inlets if inlet.name in unread)
                self._tell(streamlet, unit, backlog, batch)

    def _tell(
        self, streamlet: StreamletPlan, unit: UnitStatus, backlog: dict[str, int], planned: _Batch | None
    ) -> None:
        running = None
        if planned is not None and unit.state == "running":
            running = planned[0], max(planned[1], unit.since)  # a batch that is replayed was planned by an earlier run
        if (backlog, running) != (unit.backlog, unit.running):
            self._report(Seen(UnitMeasured(self._clock(), unit.unit, backlog, running)))
        if running is None or self._overlong.get(unit.unit) == running:
            return
        if self._clock() - running[1] >= streamlet.stuck_after.seconds:
            self._overlong[unit.unit] = running
            self._report(Overlong(unit.unit, *running))

    def _measure(
        self, streamlet: StreamletPlan, checkpoints: Iterable[Checkpoint]
    ) -> tuple[dict[str, int], _Batch | None]:
        """Records that are not yet committed, by inlet, and the batch that is planned and not committed."""
        backlog: dict[str, int] = {}
        planned: list[_Batch] = []
        for checkpoint in checkpoints:
            committed = checkpoint.committed.positions if checkpoint.committed else {}
            for source, begun in (checkpoint.latest.positions if checkpoint.latest else {}).items():
                inlet = self._inlet(streamlet, source, Position(begun))
                if inlet is not None:
                    first = None if inlet.starting == "earliest" else begun
                    done = committed.get(source, first)
                    reader = f"{checkpoint.name}.{source}"
                    backlog |= self._behind(inlet, Position(done) if done is not None else None, reader)
            if checkpoint.planned is not None:
                planned.append((checkpoint.planned.number, checkpoint.planned.time))
        return backlog, min(planned, key=lambda batch: batch[1], default=None)

    def _never_read(self, inlets: Iterable[InletPlan]) -> dict[str, int]:
        backlog: dict[str, int] = {}
        for inlet in inlets:
            if inlet.starting == "earliest":
                backlog |= self._behind(inlet, None, f"{inlet.streamlet}.{inlet.name}")
        return backlog

    def _behind(self, inlet: InletPlan, position: Position | None, reader: str) -> dict[str, int]:
        with suppress(TopicLostError, ValueError, KeyError, TypeError, OSError):  # the query itself will report it
            return {inlet.name: self._topics[inlet.topic].lag(position, reader=reader).records}
        return {}

    def _inlet(self, streamlet: StreamletPlan, source: str, position: Position) -> InletPlan | None:
        """The inlet that a source of a checkpoint reads; the one of its name where several read the same topic."""
        inlets = sorted(streamlet.inlets, key=lambda inlet: inlet.name != source)
        return next((inlet for inlet in inlets if self._topics[inlet.topic].owns(position)), None)

    def _checkpoints_of(self, unit: UnitStatus) -> Iterator[Checkpoint]:
        """A query has one; a streamlet whose queries are not known has all that lie in its directory."""
        folder = self._checkpoints / unit.unit.streamlet
        for each in [folder / unit.unit.query] if unit.unit.query else sorted(folder.glob("*")):
            numbers = latest(each / "offsets"), latest(each / "commits")
            known, checkpoint = self._read.get(each, (None, None))
            if checkpoint is None or known != numbers:
                checkpoint = read_checkpoint(each)
                self._read[each] = numbers, checkpoint
            yield checkpoint


@contextmanager
def observing(observer: Observer, log: Callable[[Exception], None]) -> Iterator[None]:
    """Look every few seconds, in a thread of its own, until left.

    Arguments:
        log: takes what went wrong.
    """
    over = threading.Event()

    def work() -> None:
        while not over.wait(EVERY):
            try:
                observer.look()
            except Exception as error:  # noqa: BLE001 - the run goes on without it; the next look may succeed
                log(error)

    thread = threading.Thread(target=work, name="observer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
