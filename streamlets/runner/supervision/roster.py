"""`Roster`: all units of a run in order, and whom one waits for: before it starts, and before it is drained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from streamlets.runner.events.model import UnitId
from streamlets.runner.supervision.watched import FINAL, Watched


class Roster:
    """The units under supervision.

    Arguments:
        watched: in topological order.
        producers: for each streamlet those whose topics it reads.
        in_order: whether a streamlet starts only once its producers are over.

    Attributes:
        ending: whether the run is to end, so that nobody is to be resumed any more.
        hurried: whether nobody waits for producers any more before it is drained.
    """

    def __init__(self, watched: Iterable[Watched], producers: Mapping[str, Iterable[str]], *, in_order: bool) -> None:
        self._producers = {ref: frozenset(those) - {ref} for ref, those in producers.items()}
        self._in_order = in_order
        self.ending = self.hurried = False
        self._take({each.unit.id: each for each in watched})

    def __iter__(self) -> Iterator[Watched]:
        return iter(tuple(self._by_id.values()))

    def find(self, unit: UnitId) -> Watched | None:
        """The unit of this id; None when there is none."""
        return self._by_id.get(unit)

    def of(self, streamlet: str) -> list[Watched]:
        """The units of a streamlet; none when there is no such streamlet."""
        return self._by_streamlet.get(streamlet, [])

    def replace(self, one: Watched, parts: Iterable[Watched]) -> None:
        """Put several in the place of one; the order of the streamlets stays."""
        after: dict[UnitId, Watched] = {}
        for id, other in self._by_id.items():
            after |= {part.unit.id: part for part in parts} if other is one else {id: other}
        self._take(after)

    def over(self, watched: Watched) -> bool:
        """Whether nothing more is to come of it; what is paused is only over when nobody waits for its resume."""
        return watched.state in FINAL and (not watched.paused or self.ending or self._in_order)

    def unfinished_producers(self, watched: Watched) -> list[str]:
        """The streamlets that still write what it reads, sorted."""
        wanted = self._producers.get(watched.unit.id.streamlet, frozenset())
        return sorted(ref for ref in wanted if not all(map(self.over, self.of(ref))))

    def held_up_by(self, watched: Watched) -> list[str]:
        """The producers that must be over before it may start."""
        return self.unfinished_producers(watched) if self._in_order else []

    def may_start(self, watched: Watched) -> bool:
        """Whether nothing holds it up: the queries of a streamlet go down together before one comes up again."""
        going = any(other.launched and other.then for other in self.of(watched.unit.id.streamlet))
        return not going and not self.held_up_by(watched)

    def to_drain(self) -> list[Watched]:
        """Who is to drain now. Producers first: what they committed last may still be read by those behind them."""
        up = [watched for watched in self if watched.state == "running"]
        ready = [watched for watched in up if self.hurried or not self.unfinished_producers(watched)]
        nothing_ends = all(self.over(watched) or watched.state == "running" for watched in self)
        if not ready and nothing_ends and not any(watched.asked for watched in up):
            return up  # a cycle: no order is right
        return ready

    def _take(self, watched: dict[UnitId, Watched]) -> None:
        self._by_id = watched
        self._by_streamlet: dict[str, list[Watched]] = {}
        for id, each in watched.items():
            self._by_streamlet.setdefault(id.streamlet, []).append(each)
