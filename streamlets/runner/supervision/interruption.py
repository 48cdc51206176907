"""`Interruptions`: stuck units are ended step by step, so that they can be started again."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.wording import span
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import BatchStuck
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import Hung, Overlong
from streamlets.runner.supervision.watched import Watched
from streamlets.spark.failure import Failure

LOCATED_WITHIN = 5.0
"""Seconds for the report where a batch is stuck. A process whose interpreter lock is blocked never reports it."""

STOPPED_WITHIN = 10.0
"""Seconds for the end of a unit after it was stopped; then it is ended by force."""


@dataclass(slots=True)
class Interruption:
    """A stuck run of a unit: it is stopped as soon as its place is known, and at last ended by force.

    Arguments:
        watched: the unit.
        cause: why it is interrupted.
        due: when the next step is taken, on the clock of the supervisor; None after the last one.
        batch: the number of its batch; None if it has none.
        frames: where it is stuck.
        stopped: whether it was stopped.
    """

    watched: Watched
    cause: str
    due: float | None
    batch: int | None = None
    frames: tuple[str, ...] = ()
    stopped: bool = False

    def step(self, now: float) -> None:
        """Take the next step: stop it, or end it by force."""
        if self.stopped:
            self.due = None
            self.watched.unit.kill()
            return
        self.stopped, self.due = True, now + STOPPED_WITHIN
        if self.watched.then is None:
            self.watched.enter("draining", self.cause, self.frames)
        self.watched.stop()

    def failure(self, end: Failure | None) -> Failure:
        """Return it as the failure of the unit. A process that was ended by force has left its frames in `end`."""
        return Failure(self.cause, self.frames or (end.frames if end is not None else ()))


class Interruptions:
    """The interruptions of a run, by unit.

    Arguments:
        environment: its clocks.
    """

    def __init__(self, environment: Environment) -> None:
        self._clock, self._timer = environment.clock, environment.timer
        self._by_unit: dict[UnitId, Interruption] = {}
        self._closed = False

    def overlong(self, watched: Watched, fact: Overlong) -> None:
        """Locate a batch that has been running for too long; interrupt its unit if the fact says so."""
        if fact.restart and not self._closed:
            cause = f"stuck: batch {fact.batch} has been running for {span(self._clock() - fact.since)}"
            interruption = Interruption(watched, cause, self._timer() + LOCATED_WITHIN, fact.batch)
            self._by_unit.setdefault(fact.unit, interruption)
        watched.unit.locate(fact.batch, fact.since)

    def hung(self, watched: Watched, fact: Hung) -> None:
        """Stop a unit without batches that is stuck, if the fact says so."""
        if fact.restart and not self._closed and watched.unit.id not in self._by_unit:
            cause = f"stuck: {fact.event.reason}"
            interruption = Interruption(watched, cause, None, frames=fact.event.frames)
            self._by_unit[watched.unit.id] = interruption
            interruption.step(self._timer())

    def seen(self, event: Event) -> None:
        """Stop a unit as soon as it is known where its batch is stuck."""
        if not isinstance(event, BatchStuck):
            return
        interruption = self._by_unit.get(event.unit)
        if interruption is not None and interruption.batch == event.batch and not interruption.stopped:
            interruption.frames = event.frames or event.stack
            interruption.step(self._timer())

    def progressed(self, unit: UnitId) -> None:
        """Leave a unit alone whose batch has ended before it was stopped."""
        if unit in self._by_unit and not self._by_unit[unit].stopped:
            del self._by_unit[unit]

    def ended(self, unit: UnitId) -> Interruption | None:
        """Return the interruption by which a unit has ended; None if it has ended by itself."""
        interruption = self._by_unit.pop(unit, None)
        return interruption if interruption is not None and interruption.stopped else None

    def close(self) -> None:
        """Leave all units alone from here on: the run is ending, and has limits of its own."""
        self._closed = True
        self._by_unit.clear()

    def tick(self) -> list[float]:
        """Take the steps that are due; return when the next ones are."""
        now = self._timer()
        for interruption in tuple(self._by_unit.values()):
            if interruption.due is not None and interruption.due <= now:
                interruption.step(now)
        return [one.due for one in self._by_unit.values() if one.due is not None]
