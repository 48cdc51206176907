"""The units of a run in order, and the ones that a unit waits for before it is started or drained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.watched import FINAL, Watched


class Roster:
    """The units under supervision.

    Arguments:
        watched: the units in topological order.
        producers: for each streamlet, the streamlets that write the topics it reads.
        in_order: whether a streamlet starts only once its producers are over.

    Attributes:
        ending: whether the run is being stopped, so that no unit will be resumed.
        hurried: whether units are drained without waiting for their producers.
    """

    def __init__(self, watched: Iterable[Watched], producers: Mapping[str, Iterable[str]], *, in_order: bool) -> None:
        self._producers = {ref: frozenset(refs) - {ref} for ref, refs in producers.items()}
        self._in_order = in_order
        self.ending = self.hurried = False
        self._set({unit.unit.id: unit for unit in watched})

    def __iter__(self) -> Iterator[Watched]:
        return iter(tuple(self._by_id.values()))

    def find(self, unit: UnitId) -> Watched | None:
        """Return the unit with an id; None without one."""
        return self._by_id.get(unit)

    def of(self, streamlet: str) -> list[Watched]:
        """Return the units of a streamlet; [] if there is no such streamlet."""
        return self._by_streamlet.get(streamlet, [])

    def replace(self, watched: Watched, parts: Iterable[Watched]) -> None:
        """Replace a unit by its parts; the order of the streamlets stays."""
        units: dict[UnitId, Watched] = {}
        for id, other in self._by_id.items():
            units |= {part.unit.id: part for part in parts} if other is watched else {id: other}
        self._set(units)

    def over(self, watched: Watched) -> bool:
        """Return whether a unit has ended for good; a paused unit has ended only if no resume is awaited."""
        return watched.state in FINAL or (watched.state == "paused" and (self.ending or self._in_order))

    def unfinished_producers(self, watched: Watched) -> list[str]:
        """Return the producers of a unit that are not over, sorted."""
        producers = self._producers.get(watched.unit.id.streamlet, frozenset())
        return sorted(ref for ref in producers if not all(map(self.over, self.of(ref))))

    def awaited_producers(self, watched: Watched) -> list[str]:
        """Return the producers that must be over before a unit may start."""
        return self.unfinished_producers(watched) if self._in_order else []

    def may_start(self, watched: Watched) -> bool:
        """Return whether a unit may start. All queries of a streamlet must have ended before a request about the whole
        streamlet lets one start again."""
        ending = any(
            other.launched and other.then in ("pause", "restart") for other in self.of(watched.unit.id.streamlet)
        )
        return not ending and not self.awaited_producers(watched)

    def to_drain(self) -> list[Watched]:
        """Return the units to drain now: those without unfinished producers, whose last records can then be read."""
        running = [watched for watched in self if watched.state == "running"]
        ready = [watched for watched in running if self.hurried or not self.unfinished_producers(watched)]
        if not ready and all(self.over(watched) or watched.state == "running" for watched in self):
            return running  # a cycle: there is no order
        return ready

    def _set(self, watched: dict[UnitId, Watched]) -> None:
        self._by_id = watched
        self._by_streamlet: dict[str, list[Watched]] = {}
        for id, unit in watched.items():
            self._by_streamlet.setdefault(id.streamlet, []).append(unit)
