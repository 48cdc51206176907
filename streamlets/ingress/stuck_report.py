"""`StuckReport`: whether a unit without batches, such as a spout or a discovery, is stuck in the author's code."""

from __future__ import annotations

import time
from collections.abc import Callable

from blueprint.core_settings import StreamletSettings
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitRecovered, UnitStuck
from streamlets.runner.supervision.facts import Fact, Hung, Seen
from streamlets.runner.units.stack_frames import authors_frames


class StuckReport:
    """Reports once that a unit is stuck, and once that it goes on.

    Arguments:
        unit: the unit.
        settings: the settings of its streamlet.
        report: takes the facts.
    """

    def __init__(self, unit: UnitId, settings: StreamletSettings, report: Callable[[Fact], None]) -> None:
        self._unit, self._report = unit, report
        self._restart = settings.restarts_stuck
        self._stuck_run: int | None = None

    def look(self, run: int, what: str, seconds: float, limit: float, thread: int | None = None) -> None:
        """Compare a silence with its limit.

        Arguments:
            run: the number of the run of the unit.
            what: what did not happen, such as `no end of its discovery`.
            seconds: how long it has not happened, on a clock that nobody can set.
            limit: the seconds after which the unit is stuck.
            thread: the thread that runs the author's code; None for another process.
        """
        if seconds < limit:
            if self._stuck_run == run:
                self._report(Seen(UnitRecovered(time.time(), self._unit)))
            self._stuck_run = None
        elif self._stuck_run != run:
            self._stuck_run = run
            now = time.time()
            event = UnitStuck(
                time=now, unit=self._unit, what=what, since=now - seconds, frames=authors_frames(thread)
            )  # fmt: skip
            self._report(Hung(run, event, restart=self._restart))
