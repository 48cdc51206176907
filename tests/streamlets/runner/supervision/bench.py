"""A supervisor over fake units that record their calls, with a clock set by hand; and a supervisor in real time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from blueprint.core_settings import Retry
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import ChannelsAnswered, Ended, Fact, Progressed, Started, Unit
from streamlets.runner.supervision.gate import Opening
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.failure import Failure

BROKEN = Failure("it broke")


@dataclass
class Fake:
    """A unit that only records its calls. Two concurrent runs of it are an error."""

    id: UnitId
    retry: Retry = field(default_factory=Retry)
    bounded: bool = False
    calls: list[str] = field(default_factory=list)
    run: int = 0
    up: bool = False
    host: str = "spark"
    wall_clock: bool = True
    unscalable: str = ""
    replicas: int | None = None

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        assert not self.up, f"{self.id} is started while it is running"
        self.run, self.up, self.replicas = run, True, replicas
        self.calls.append("start last" if last else "start")

    def drain(self) -> None:
        self.calls.append("drain")

    def stop(self) -> None:
        self.calls.append("stop")

    def kill(self) -> None:
        self.calls.append("kill")

    def check(self) -> None:
        self.calls.append("check")

    def locate(self, batch: int, since: float) -> None:
        self.calls.append(f"locate {batch}")


def unit_id(name: str) -> UnitId:
    """Return the unit id of a name such as `a` (a streamlet) or `a.x` (a query)."""
    streamlet, _, query = name.partition(".")
    return UnitId(streamlet, query)


class Bench:
    """A supervisor over fake units with a clock set by hand; `b` reads `a`, `c` reads `b`, and so on."""

    def __init__(
        self,
        refs: Iterable[str] = "ab",
        *,
        in_order: bool = False,
        bounded: bool = False,
        retry: Retry | None = None,
        producers: Mapping[str, list[str]] | None = None,
        openings: Mapping[str, Iterable[Opening]] | None = None,
        ending: Iterable[str] = (),
        cycles: Iterable[Mapping[str, frozenset[str]]] = (),
        outlets: Mapping[str, Mapping[str, float]] | None = None,
        drain_within: float | None = None,
        fail_fast: bool = False,
        paused: Mapping[str, str] | None = None,
        uniform: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.now = 1000.0
        self.set_back = 0.0  # seconds by which the wall clock was set back
        self.events: list[Event] = []
        self.questions: list[tuple[UnitId, tuple[str, ...]]] = []
        self.units = {ref: Fake(unit_id(ref), retry or Retry(), bounded) for ref in refs}
        chain = {ref: [before] for before, ref in itertools.pairwise(refs)}
        self.supervisor = Supervisor(
            self.units.values(),
            Dependencies(chain if producers is None else producers, openings or {}, ending, cycles, outlets or {}),
            Environment(
                emit=self.events.append,
                clock=lambda: self.now - self.set_back,
                timer=lambda: self.now,
                uniform=uniform,
                ask_channels=lambda unit, topics: self.questions.append((unit, tuple(topics))),
            ),
            in_order=in_order,
            drain_within=drain_within,
            fail_fast=fail_fast,
            paused=paused,
        )
        self.supervisor.tick()

    def state(self, ref: str) -> str:
        return self.last(ref).state

    def last(self, ref: str) -> UnitChanged:
        return [e for e in self.events if isinstance(e, UnitChanged) and e.unit == self.units[ref].id][-1]

    def started(self, ref: str) -> None:
        self.supervisor.handle(Started(self.units[ref].id, self.units[ref].run))

    def ended(self, ref: str, failure: Failure | None = None) -> None:
        self.units[ref].up = False
        self.supervisor.handle(Ended(self.units[ref].id, self.units[ref].run, failure))
        self.supervisor.tick()

    def answered(self, ref: str, **refusals: str) -> None:
        """Let the channels answer that they accept records of a unit, except these topics."""
        self.supervisor.handle(ChannelsAnswered(self.units[ref].id, refusals))
        self.supervisor.tick()

    def progressed(self, ref: str, rows: int, rows_out: Mapping[str, int] | None = None) -> None:
        unit = self.units[ref]
        self.supervisor.handle(Progressed(unit.run, UnitProgressed(self.now, unit.id, 0, rows, rows_out or {})))

    def passes(self, seconds: float) -> float | None:
        self.now += seconds
        return self.supervisor.tick()


def real_time(units: Iterable[Unit], emit: Callable[[Event], None]) -> Supervisor:
    """Return a supervisor in real time; its units do not wait for each other."""
    return Supervisor(units, Dependencies(), Environment(emit=emit, uniform=lambda: 0.0), in_order=False)


def supervise(
    supervisor: Supervisor, inbox: SimpleQueue[Fact], reached: Callable[[], bool], *, seconds: float, details: object
) -> None:
    """Supervise until a condition is reached; fail after so many seconds and show `details`."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, details
        due = supervisor.tick()
        try:
            supervisor.handle(inbox.get(timeout=0.2 if due is None else min(0.2, due)))
        except Empty:
            supervisor.check()
