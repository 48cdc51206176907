"""`Circulation`: in a bounded run, the streamlets of a cycle run again until no record has come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streamlets.runner.events.unit_events import UnitProgressed


@dataclass(slots=True)
class Circulation:
    """A cycle, and the records that its streamlets have written back into it.

    Arguments:
        outlets: for each streamlet of the cycle, the outlets whose topics a streamlet of the cycle reads.
        records: how many records these outlets have written in this run, at least one more after each failure: a batch
            that is repeated does not report what it had written before.
    """

    outlets: Mapping[str, frozenset[str]]
    records: int = 0

    def progressed(self, progress: UnitProgressed) -> None:
        """Count the records that a unit of the cycle has written back."""
        back = self.outlets.get(progress.unit.streamlet, frozenset())
        self.records += sum(rows for outlet, rows in progress.rows_out.items() if outlet in back)

    def failed(self) -> None:
        """Let the streamlets run again, because a unit has failed that may have written records."""
        self.records += 1


def circulations(cycles: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, Circulation]:
    """Return the circulation of each streamlet that is in a cycle."""
    found: dict[str, Circulation] = {}
    for outlets in cycles:
        found |= dict.fromkeys(outlets, Circulation(outlets))
    return found
