"""The units of a run in order, and the ones that a unit waits for before it is started or drained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blueprint.wording import counted
from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.cycles import Circulation, circulations
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import Unit
from streamlets.runner.supervision.gate import Go, Opening, Refused, TimedOut, Wait, gate
from streamlets.runner.supervision.outlets import Outlets
from streamlets.runner.supervision.watched import FINAL, Runs, Watched


class Roster:
    """The units under supervision.

    Arguments:
        units: the units in topological order.
        dependencies: what streamlets require of each other.
        in_order: whether every inlet requires that its producers have ended, and nothing else. The streamlets of a
            cycle start together, and have ended when no record has come back to one of them.
        environment: clocks, and where the events go.

    Attributes:
        ending: whether the run is being stopped, so that no unit will be resumed.
        hurried: whether units are drained without waiting for their producers.
        outlets: the waits for the channels of outlets.
    """

    def __init__(
        self, units: Iterable[Unit], dependencies: Dependencies, environment: Environment, *, in_order: bool
    ) -> None:
        self.outlets = Outlets(dependencies.outlets, environment)
        self._producers = {ref: frozenset(refs) - {ref} for ref, refs in dependencies.producers.items()}
        self._openings = {ref: tuple(required) for ref, required in dependencies.openings.items()}
        self._end_with_producers = frozenset(dependencies.ending)
        self._circulations = circulations(dependencies.cycles) if in_order else {}
        if in_order:
            before = {ref: self._before(ref) for ref in self._producers}
            self._openings = {ref: (Opening(producers=refs, sequential=True),) for ref, refs in before.items()}
            self._end_with_producers = frozenset()
        self._in_order = in_order
        self.ending = self.hurried = False
        self._set({unit.id: Watched(unit, environment) for unit in units})

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

    def gate(self, watched: Watched, now: float) -> Go | Wait | TimedOut | Refused:
        """Return whether a unit may start.

        All queries of a streamlet must have ended before a request about the whole streamlet lets one start again.

        Arguments:
            now: the time on the clock of the supervisor, in seconds.
        """
        ref = watched.unit.id.streamlet
        if any(other.launched and other.then in ("pause", "restart") for other in self.of(ref)):
            return Wait((), (), now)
        openings = self._openings.get(ref, ())
        producers = frozenset[str]().union(*(opening.producers for opening in openings))
        verdict = gate(
            openings,
            opened={ref for ref in producers if all(unit.opened for unit in self.of(ref))},
            ended={ref for ref in producers if self._ended(ref)},
            since=now if watched.waits_since is None else watched.waits_since,
            now=now,
        )
        if isinstance(verdict, Go):
            return self.outlets.gate(watched, now)
        watched.channels = None  # they are asked once the inlets are open
        return verdict

    def described(self, wait: Wait) -> str:
        """Return the reason why a unit waits, with the states of producers that will not open or end by themselves."""
        parts = [", ".join(map(self._named, wait.opening))] if wait.opening else []
        parts += [f"the end of {', '.join(map(self._named, wait.ending))}"] if wait.ending else []
        parts += [f"the channel{'s' * (len(wait.channels) > 1)} of {', '.join(wait.channels)}"] if wait.channels else []
        return f"waiting for {', and for '.join(parts) or 'its other queries'}"

    def _named(self, ref: str) -> str:
        states = {unit.state for unit in self.of(ref)}
        state = next((state for state in ("failed", "paused") if state in states), "")
        return f"{ref} ({state})" if state else ref

    def _ended(self, ref: str) -> bool:
        """Return whether a streamlet has ended.

        One that has failed has not, unless the run is in order: it may be started again on request.
        """
        units = [unit for member in (ref, *self._cycle_of(ref)) for unit in self.of(member)]
        return all(self.over(unit) and (self._in_order or unit.state != "failed") for unit in units)

    def circulation(self, watched: Watched) -> Circulation | None:
        """Return the circulation of a unit in a cycle, in a run that is in order; None for others."""
        return self._circulations.get(watched.unit.id.streamlet)

    def behind(self, circulation: Circulation) -> list[Watched]:
        """Return the units of a cycle that have completed, and were started before the last records came back."""
        units = [unit for member in circulation.outlets for unit in self.of(member)]
        return [unit for unit in units if unit.state == "completed" and unit.circulated < circulation.records]

    def _before(self, ref: str) -> frozenset[str]:
        """Return the streamlets that must end before a streamlet starts: the producers of its whole cycle."""
        cycle = self._cycle_of(ref)
        producers = [self._producers.get(member, frozenset()) for member in cycle | {ref}]
        return frozenset[str]().union(*producers) - cycle

    def _cycle_of(self, ref: str) -> frozenset[str]:
        circulation = self._circulations.get(ref)
        return frozenset(circulation.outlets) if circulation is not None else frozenset()

    def final_runs(self, watched: Watched) -> Runs | None:
        """Return the runs of a unit's producers if all have ended without a failure and it ends with them, or None."""
        ref = watched.unit.id.streamlet
        if ref not in self._end_with_producers or watched.unit.bounded:
            return None
        units = self._feeding(watched)
        if not units or not all(unit.state in ("completed", "stopped") for unit in units):
            return None
        return tuple((unit.unit.id, unit.run) for unit in units)

    def _feeding(self, watched: Watched) -> list[Watched]:
        """Return the units that write what a unit reads.

        These are the units of its producers, and units of its own streamlet on other hosts that end by themselves, such
        as the discovery of a batch source.
        """
        ref = watched.unit.id.streamlet
        units = [unit for producer in sorted(self._producers.get(ref, ())) for unit in self.of(producer)]
        return units + [unit for unit in self.of(ref) if unit.unit.bounded and unit.unit.host != watched.unit.host]

    @property
    def deadlock(self) -> str:
        """Why no unit can start or end any more without a request, empty as long as one can.

        Units that have not ended wait for each other, or for units that have failed, and no limit ends their wait.
        """
        left: list[Watched] = []
        for watched in self:
            if self.over(watched):
                continue
            if not self._is_stuck(watched, left):
                return ""
            left.append(watched)
        if not left:
            return ""
        more = f"; {counted(len(left) - 1, 'other unit waits', 'other units wait')}, too" if len(left) > 1 else ""
        waiting = left[0].waiting or f"waiting for the end of {', '.join(self._blockers(left[0], left))}"
        return f"nothing can go on: `{left[0].unit.id}` is {waiting}{more}"

    def _is_stuck(self, watched: Watched, stuck: Iterable[Watched]) -> bool:
        """Return whether a unit waits for ever.

        It waits at its gate, or for the end of producers of which one has failed or is stuck, while none of them runs.

        Arguments:
            stuck: the units before it that are.
        """
        if watched.waits:
            return watched.due is None
        ref = watched.unit.id.streamlet
        if watched.state != "running" or ref not in self._end_with_producers or not self._blockers(watched, stuck):
            return False
        return all(self.over(unit) or unit in stuck for unit in self._feeding(watched))

    def _blockers(self, watched: Watched, stuck: Iterable[Watched]) -> list[str]:
        """Return the names of the producers of a unit that have failed or are stuck, with their states."""
        stuck = list(stuck)
        blocking = [unit for unit in self._feeding(watched) if unit in stuck or unit.state == "failed"]
        return list(dict.fromkeys(self._named(unit.unit.id.streamlet) for unit in blocking))

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
