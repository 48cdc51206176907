"""`PortCounts`: the records of a unit at one inlet or outlet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class _Batch(Protocol):
    @property
    def time(self) -> float: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class PortCounts:
    """What a unit has read at an inlet, or written at an outlet, since the run started.

    Arguments:
        records: the records.
        batches: the batches that could have had records of the port.
        seconds: how long these batches took together.
        active: when the last batch with records of the port was finished, in seconds since the epoch; None without one.
    """

    records: int = 0
    batches: int = 0
    seconds: float = 0.0
    active: float | None = None

    def after(self, batch: _Batch, records: int) -> PortCounts:
        """Return the counts after another batch."""
        active = batch.time if records else self.active
        return PortCounts(self.records + records, self.batches + 1, self.seconds + batch.seconds, active)
