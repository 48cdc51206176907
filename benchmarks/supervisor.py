"""A supervisor of many units that depend on one resource, with simulated time: `python -m benchmarks.supervisor`.

All units are up when the resource fails, and it stays unavailable for a while: each restart in that time fails after
a second. Then it recovers, and at the end all units are drained. The output has, with and without a random factor, the
highest number of restarts in the same tenth of a second (the storm), the time from the recovery until the last unit
is up, and the CPU time of a decision: a step of the supervisor (handle a fact, or start what is due), divided by the
number of units whose state it changes.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from blueprint.core_settings import Retry
from blueprint.quantities import Duration
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import Drain, Ended, Fact, Lost, Started
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.failure import Failure

FAILURE = Failure("the resource is not available")
OUTAGE = 120.0
SECOND = 10**9
_BAR = 0.001
"""Seconds that a decision may take."""


@dataclass
class World:
    """The simulated time, the facts to come, and whether the resource is broken."""

    now: float = 0.0
    broken: bool = False
    upcoming: list[tuple[float, int, Fact]] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def later(self, seconds: float, fact: Fact) -> None:
        """Schedule a fact."""
        heapq.heappush(self.upcoming, (self.now + seconds, next(self.numbers), fact))


@dataclass
class Unit:
    """A unit that is up half a second after its start or, if the resource is broken, fails after a second."""

    id: UnitId
    retry: Retry
    world: World
    bounded: bool = False
    run: int = 0
    host: str = "spark"
    wall_clock: bool = True
    unscalable: str = ""

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start the unit."""
        self.run = run
        if self.world.broken:
            self.world.later(1.0, Ended(self.id, run, FAILURE))
        else:
            self.world.later(0.5, Started(self.id, run))

    def drain(self) -> None:
        """End the unit after a fifth of a second."""
        self.world.later(0.2, Ended(self.id, self.run))

    stop = drain

    def kill(self) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Do nothing: the state is always correct."""

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: there are no batches."""


@dataclass(frozen=True)
class Result:
    """The measurements of a storm.

    Arguments:
        restarts: the number of restarts.
        peaks: the restarts in the busiest tenth of a second of each wave, the first wave first.
        last_up: seconds from the recovery until all units are up.
        decisions: the seconds of each decision, sorted.
        longest_step: the seconds of the longest step, which changes many units.
    """

    restarts: int
    peaks: tuple[int, ...]
    last_up: float
    decisions: Sequence[float]
    longest_step: float


def storm(units: int, factor: float, seed: int) -> Result:
    """Simulate a storm.

    Arguments:
        units: the number of streamlets, in chains of ten.
        factor: the random factor of the back-off.
        seed: of the random numbers.
    """
    world, dice, events, took = World(), random.Random(seed), list[Event](), list[float]()
    steps: list[float] = []
    retry = Retry(min_backoff=Duration(SECOND), max_backoff=Duration(60 * SECOND), random_factor=factor)
    simulated = [Unit(UnitId(f"s{n:03}", "out"), retry, world) for n in range(units)]
    producers = {f"s{n:03}": [f"s{n - 1:03}"] for n in range(units) if n % 10}

    def decide(step: Callable[[], object]) -> object:
        before, begun = len(events), time.thread_time()
        result = step()
        steps.append(time.thread_time() - begun)
        took.append(steps[-1] / max(1, len(events) - before))
        return result

    environment = Environment(emit=events.append, clock=lambda: world.now, timer=lambda: world.now, uniform=dice.random)
    supervisor = Supervisor(simulated, Dependencies(producers), environment, in_order=False)

    def until(end: float) -> None:
        while not supervisor.done:
            due = decide(supervisor.tick)
            wake = world.now + due if isinstance(due, float) else end
            next_time = min(end, wake, world.upcoming[0][0] if world.upcoming else end)
            world.now = max(world.now, next_time)
            while world.upcoming and world.upcoming[0][0] <= world.now:
                fact = heapq.heappop(world.upcoming)[2]
                decide(lambda fact=fact: supervisor.handle(fact))  # type: ignore[misc]
            if world.now >= end:
                return

    until(100.0)
    world.broken = True
    decide(lambda: supervisor.handle(Lost(FAILURE, "spark")))
    until(100.0 + OUTAGE)
    world.broken, recovered = False, world.now
    until(recovered + 200.0)
    ups = [e.time for e in events if isinstance(e, UnitChanged) and e.state == "running" and e.time >= recovered]
    starts = [e for e in events if isinstance(e, UnitChanged) and e.state == "starting" and e.restarts]
    decide(lambda: supervisor.handle(Drain()))
    until(world.now + 100.0)
    assert supervisor.done
    assert len(ups) == units
    waves = max(e.restarts for e in starts)
    peaks = tuple(
        max(Counter(int(e.time * 10) for e in starts if e.restarts == wave).values()) for wave in range(1, waves + 1)
    )
    return Result(len(starts), peaks, max(ups) - recovered, sorted(took), max(steps))


def main() -> None:
    """Print the measurements of a storm with the jitter of units that failed together, and with a larger one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--factors", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    worst = 0.0
    for factor in options.factors:
        result = storm(options.units, factor, options.seed)
        slow = result.decisions
        worst = max(worst, slow[-1])
        print(f"random-factor {factor:g}, {options.units} units, {result.restarts:,} restarts")
        print(f"  most restarts in 0.1 s, by wave: {', '.join(map(str, result.peaks))}")
        print(f"  all up {result.last_up:.1f} s after the recovery")
        print(
            f"  {len(slow):,} decisions: median {statistics.median(slow) * 1e3:.3f} ms, 99th percentile "
            f"{slow[int(len(slow) * 0.99)] * 1e3:.3f} ms, longest {slow[-1] * 1e3:.3f} ms; "
            f"the longest step {result.longest_step * 1e3:.1f} ms"
        )
    raise SystemExit(worst > _BAR)


if __name__ == "__main__":
    main()
