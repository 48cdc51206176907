"""Reports of late rows: soon after the first ones, but not with every batch that drops some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from streamlets.runner.events.event import Event
from streamlets.runner.events.record_events import RecordsLate, RowsLate
from streamlets.runner.events.run_events import RunEnded
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed

EVERY = 600.0
"""Seconds between two reports about a unit: a stream with a few late rows drops some with every batch."""


@dataclass(slots=True)
class LateRows:
    """The late rows of a run, by unit."""

    _dropped: Counter[UnitId] = field(default_factory=Counter)
    _known: Counter[UnitId] = field(default_factory=Counter)  # of the next batch, reported by `RecordsLate`
    _reported: dict[UnitId, float] = field(default_factory=dict)

    def reports(self, event: Event) -> Iterator[RowsLate]:
        """Yield the reports due before an event.

        A unit's first late rows are reported, its sum every ten minutes while it grows, and all sums before the run
        ends.
        """
        match event:
            case RecordsLate(unit=unit, records=records):
                self._known[unit] += records
            case UnitProgressed(unit=unit, time=time) if (late := event.late - self._known.pop(unit, 0)) > 0:
                self._dropped[unit] += late
                if not 0 <= time - self._reported.get(unit, float("-inf")) < EVERY:  # the clock may be set back
                    self._reported[unit] = time
                    yield RowsLate(time, unit, self._dropped[unit], event.watermark)
            case RunEnded(time=time):
                for unit, rows in sorted(self._dropped.items(), key=lambda entry: str(entry[0])):
                    yield RowsLate(time, unit, rows)
