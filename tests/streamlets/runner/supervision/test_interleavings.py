"""Random applications under random sequences of events: what may start has started, and what can end has ended."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from blueprint.core_settings import Retry
from blueprint.quantities import Duration
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import BatchStuck, UnitChanged, UnitStuck
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import (
    ChannelsAnswered,
    Drain,
    Ended,
    Hung,
    Lost,
    Overlong,
    Seen,
    Started,
    StopNow,
)
from streamlets.runner.supervision.gate import Opening
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import BROKEN, Fake

_FATAL = Failure("wrong", fatal="for good")
_STEPS = 40
_PATIENCE = 400
"""Rounds without disturbances after which an application must have come to rest."""


@dataclass
class _Unit(Fake):
    """A unit whose starts are checked."""

    starts: Callable[[UnitId], None] = lambda id: None
    drained: bool = False
    last: bool = False
    killed: bool = False

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        self.starts(self.id)
        self.drained, self.last, self.killed = False, last, False
        super().start(run, last=last, replicas=replicas)

    def drain(self) -> None:
        self.drained = True
        super().drain()

    def stop(self) -> None:
        self.drained = True
        super().stop()

    def kill(self) -> None:
        assert self.drained, "it is stopped first"
        self.killed = True
        super().kill()


@dataclass(repr=False)
class _Application:
    """A random application: streamlets of two queries at most, in topological order, with random gates and ends.

    Arguments:
        seed: of all that is random in it.
    """

    seed: int
    now: float = 1000.0
    events: list[Event] = field(default_factory=list)
    opened: set[str] = field(default_factory=set)
    scaled: dict[str, int] = field(default_factory=dict)
    questions: list[tuple[UnitId, tuple[str, ...]]] = field(default_factory=list)
    accepted: set[UnitId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = rng = random.Random(self.seed)
        self.refs = [f"s{number}" for number in range(rng.randint(2, 6))]
        self.producers: dict[str, list[str]] = {}
        self.openings: dict[str, list[Opening]] = {}
        for index, ref in enumerate(self.refs):
            before = self.refs[:index]
            self.producers[ref] = sorted(rng.sample(before, rng.randint(0, min(2, index))))
            if self.producers[ref]:
                self.openings[ref] = list(self._random_openings(self.producers[ref]))
        self.outlets = {
            ref: {topic: rng.choice([5.0, 60.0]) for topic in rng.sample(["t0", "t1"], rng.randint(1, 2))}
            for ref in self.refs
            if rng.random() < 0.4
        }
        consumers = [ref for ref in self.refs if self.producers[ref]]
        self.interrupted = {ref for ref in self.refs if rng.random() < 0.8}
        self.ending = {ref for ref in consumers if rng.random() < 0.8}
        retry = Retry(
            max_attempts=rng.choice([1, 3, 30]), min_backoff=Duration(10**9), max_backoff=Duration(10 * 10**9)
        )
        self.units: dict[UnitId, _Unit] = {}
        for ref in self.refs:
            for part in ("x", "y")[: rng.choice([1, 1, 2])]:
                bounded = not self.producers[ref] and rng.random() < 0.9
                self.units[UnitId(ref, part)] = _Unit(UnitId(ref, part), retry, bounded, starts=self._check_start)
        self.supervisor = Supervisor(
            self.units.values(), Dependencies(self.producers, self.openings, self.ending, (), self.outlets),
            Environment(
                emit=self._emit, clock=lambda: self.now, timer=lambda: self.now, uniform=lambda: 0.0,
                ask_channels=lambda unit, topics: self.questions.append((unit, tuple(topics))),
            ),
            in_order=False,
            paused={ref: "paused before" for ref in self.refs if rng.random() < 0.05},
        )  # fmt: skip
        self.supervisor.tick()

    def __repr__(self) -> str:
        return f"application {self.seed}"

    def _random_openings(self, producers: list[str]) -> Iterator[Opening]:
        rng = self.random
        for size in range(1, len(producers) + 1):
            some = frozenset(rng.sample(producers, size))
            if rng.random() < 0.6:
                limited = rng.random() < 0.4
                opened = rng.choice([0, 1, len(some)]) if not limited else rng.choice([1, len(some)])
                yield Opening(
                    producers=some, opened=opened, within=rng.choice([5.0, 60.0]) if limited else None,
                    sequential=rng.random() < 0.4,
                )  # fmt: skip

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, UnitChanged) and event.unit.streamlet not in self.opened:
            ref = event.unit.streamlet
            reached = {id for id in self._of(ref) if self._has_been(id, "running", "completed", "stopped")}
            if reached == set(self._of(ref)):
                self.opened.add(ref)

    def _of(self, ref: str) -> list[UnitId]:
        return [id for id in self.units if id.streamlet == ref]

    def _has_been(self, id: UnitId, *states: str) -> bool:
        changes = [event for event in self.events if isinstance(event, UnitChanged) and event.unit == id]
        ran = any(event.state == "running" for event in changes)
        return ran or (bool(changes) and changes[-1].state in states)

    def change(self, id: UnitId) -> UnitChanged:
        """Return the last change of a unit."""
        return next(e for e in reversed(self.events) if isinstance(e, UnitChanged) and e.unit == id)

    def state(self, id: UnitId) -> str:
        """Return the state of a unit."""
        return self.change(id).state

    def ended(self, ref: str) -> bool:
        """Return whether all units of a streamlet have ended without a failure."""
        return all(self.state(id) in ("completed", "stopped") for id in self._of(ref))

    def _check_start(self, id: UnitId) -> None:
        """No unit is started too early."""
        ref = id.streamlet
        assert ref not in self.outlets or id in self.accepted, self
        self.accepted.discard(id)
        for opening in self.openings.get(ref, ()):
            assert len(opening.producers & self.opened) >= min(opening.opened, len(opening.producers)), self
            assert not opening.sequential or all(map(self.ended, opening.producers)), self

    def check_waits(self) -> None:
        """Every wait is explained, and a unit that waits for nobody has been started."""
        for id, unit in self.units.items():
            change = self.change(id)
            if change.state == "starting" and not unit.up:
                assert change.waiting.startswith("waiting for "), (self, id)
                names = [ref for ref in self.refs if f" {ref}" in change.waiting]
                assert set(names) <= set(self.producers[id.streamlet]), (self, id)
                channels = "channel" in change.waiting and id.streamlet in self.outlets
                assert names or channels or change.waiting == "waiting for its other queries", (self, id)

    def step(self) -> None:
        """Let one thing happen."""
        rng = self.random
        live = [unit for unit in self.units.values() if unit.up]
        actions: list[Callable[[], object]] = [
            lambda: self.passes(rng.choice([0.1, 1.0, 7.0, 70.0])),
            lambda: self.supervisor.pause(rng.choice(self.refs), "paused"),
            lambda: self.supervisor.resume(rng.choice(self.refs), "resumed"),
            lambda: self.supervisor.restart(rng.choice(self.refs), "restarted"),
            lambda: self._scale(rng.choice(self.refs), rng.randint(1, 3)),
            lambda: self.supervisor.stop_query(rng.choice(list(self.units)), "stopped"),
        ]
        if live:
            unit = rng.choice(live)
            actions += [lambda: self._is_stuck(unit)] * 2
            actions += [lambda: self._start_succeeds(unit)] * 4
            actions += [lambda: self._end(unit, rng.choice([None, None, None, BROKEN, BROKEN, _FATAL]))] * 4
        if self.questions:
            actions += [lambda: self._answer(accepts=rng.random() < 0.5)] * 4
        if rng.random() < 0.02:
            actions = [self._lose_spark]
        if rng.random() < 0.01:
            request: Drain | StopNow = Drain() if rng.random() < 0.5 else StopNow()
            actions = [lambda: self.supervisor.handle(request)]
        rng.choice(actions)()
        self.supervisor.tick()
        self.check_waits()

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.supervisor.tick()

    def _answer(self, *, accepts: bool) -> None:
        """Answer a question to channels, perhaps after the unit has stopped waiting."""
        unit, topics = self.questions.pop(self.random.randrange(len(self.questions)))
        if accepts:
            self.accepted.add(unit)
        self.supervisor.handle(ChannelsAnswered(unit, {} if accepts else {topics[0]: "down"}))

    def _scale(self, ref: str, replicas: int) -> None:
        if not self.supervisor.scale(ref, replicas, "scaled"):
            self.scaled[ref] = replicas

    def _start_succeeds(self, unit: _Unit) -> None:
        self.supervisor.handle(Started(unit.id, unit.run))

    def _is_stuck(self, unit: _Unit) -> None:
        """A batch takes too long; it is located or not, and a limit passes or not before it ends."""
        restart, calls = unit.id.streamlet in self.interrupted, len(unit.calls)
        if self.random.random() < 0.3:  # it has no batches
            what = UnitStuck(time=self.now, unit=unit.id, what="no sign of life", since=self.now - 600)
            self.supervisor.handle(Hung(unit.run, what, restart))
        self.supervisor.handle(Overlong(unit.id, 1, self.now - 600, restart))
        if self.random.random() < 0.7:
            at = BatchStuck(time=self.now, unit=unit.id, batch=1, since=self.now - 600, seconds=600.0)
            self.supervisor.handle(Seen(at))
        if self.random.random() < 0.5:
            self.passes(5.0)
            self.passes(10.0)
            up = self.state(unit.id) in ("running", "draining")
            assert not up or not restart or unit.killed or self.supervisor.ending, (self, unit.id)
        assert restart or not {"stop", "kill"} & set(unit.calls[calls:]) or self.supervisor.ending, (self, unit.id)

    def _end(self, unit: _Unit, failure: Failure | None) -> None:
        unit.up = False
        self.supervisor.handle(Ended(unit.id, unit.run, failure))

    def _lose_spark(self) -> None:
        for unit in self.units.values():
            unit.up = False
        self.supervisor.handle(Lost(Failure("the JVM exited"), "spark"))

    def come_to_rest(self) -> None:
        """Let all starts succeed and all ends be reached, without a disturbance, until nothing happens any more."""
        for ref in self.refs:
            self.supervisor.resume(ref, "resumed")
        for _ in range(_PATIENCE):
            self.passes(0)
            before = len(self.events)
            while self.questions:
                self._answer(accepts=True)
                self.supervisor.tick()
            for unit in self.units.values():
                if unit.up:
                    self._start_succeeds(unit)
                if unit.up and (unit.drained or unit.last or unit.bounded):
                    self._end(unit, None)
                self.supervisor.tick()
            due = self.supervisor.tick()
            if due is not None:
                self.passes(due)
            self.check_waits()
            if self.supervisor.done or (due is None and len(self.events) == before):
                return
        raise AssertionError((self, "it does not come to rest"))

    def check_rest(self) -> None:
        """What is not over at rest runs for a reason, and with its last number of replicas."""
        for id, unit in self.units.items():
            assert self.state(id) != "running" or unit.replicas == self.scaled.get(id.streamlet), (self, id)
        if self.supervisor.ending:
            assert self.supervisor.done, self
            return
        assert self.supervisor.done == all(self._is_over(id) for id in self.units), self
        endless: set[str] = set()
        for ref in self.refs:
            if all(map(self._is_over, self._of(ref))):
                continue
            running = [id for id in self._of(ref) if self.state(id) == "running"]
            blocked = [other for other in self.producers[ref] if other in endless or self._has_failed(other)]
            assert running or blocked, (self, ref)
            if ref in self.ending:
                assert blocked, (self, ref)  # otherwise its end is reached
            endless.add(ref)
        assert not endless or any(self.state(id) == "running" for id in self.units), self

    def _is_over(self, id: UnitId) -> bool:
        return self.state(id) in ("completed", "stopped", "failed")

    def _has_failed(self, ref: str) -> bool:
        return any(self.state(id) == "failed" for id in self._of(ref))


def _play(seeds: range) -> None:
    for seed in seeds:
        application = _Application(seed)
        application.check_waits()
        for _ in range(_STEPS):
            if application.supervisor.done:
                break
            application.step()
        if not application.supervisor.done:
            application.come_to_rest()
            application.check_rest()


def test_random_applications_start_in_order_and_end() -> None:
    """No unit starts too early, every wait is explained, nothing hangs without a reason, and every end is reached."""
    _play(range(150))


@pytest.mark.full
def test_many_random_applications_start_in_order_and_end() -> None:
    """The same for 2,000 applications."""
    _play(range(2000))
