"""A supervisor of many units whose common ground gives way, with simulated time: `python -m benchmarks.supervisor`.

All units are up when something all of them need breaks, and stays broken for a while: each restart in that time fails
after a second. Then it works again, and at the end all are drained. Printed are, with and without a random factor, how
many units are restarted in the same tenth of a second (the storm), how long after the repair the last unit is up, and
what a decision costs in processor time: a step of the supervisor (taking in a fact, looking at what is due) by the
number of units it changes the state of.
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

from blueprint.plan import Retry
from blueprint.quantities import Duration
from streamlets.runner.events.model import Event, UnitChanged, UnitId
from streamlets.runner.supervision.facts import Drain, Ended, Fact, Lost, Started
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.failure import Failure

GONE = Failure("the ground is gone")
BROKEN_FOR = 120.0
SECOND = 10**9
_BAR = 0.001  # seconds a decision may take


@dataclass
class World:
    """Time, what will happen in it, and whether the ground holds."""

    now: float = 0.0
    broken: bool = False
    ahead: list[tuple[float, int, Fact]] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def later(self, seconds: float, fact: Fact) -> None:
        """Have something happen."""
        heapq.heappush(self.ahead, (self.now + seconds, next(self.numbers), fact))


@dataclass
class Unit:
    """Up half a second after its start, or, on broken ground, failed after one."""

    id: UnitId
    retry: Retry
    world: World
    bounded: bool = False
    run: int = 0

    def start(self, run: int) -> None:
        """Begin."""
        self.run = run
        if self.world.broken:
            self.world.later(1.0, Ended(self.id, run, GONE))
        else:
            self.world.later(0.5, Started(self.id, run))

    def drain(self) -> None:
        """End in a while."""
        self.world.later(0.2, Ended(self.id, self.run))

    stop = drain

    def check(self) -> None:
        """It is as it says."""

    def locate(self, batch: int, since: float) -> None:
        """It has no batches."""


@dataclass(frozen=True)
class Result:
    """What a storm was like.

    Arguments:
        peaks: restarts in the busiest tenth of a second of each wave, the first wave first.
        last_up: seconds from the repair until all are up.
        decisions: seconds each took, sorted; longest_step: seconds of the longest step, which decides about many.
    """

    restarts: int
    peaks: tuple[int, ...]
    last_up: float
    decisions: Sequence[float]
    longest_step: float


def storm(units: int, factor: float, seed: int) -> Result:
    """One simulation; `units` streamlets in chains of ten."""
    world, dice, events, took = World(), random.Random(seed), list[Event](), list[float]()
    steps: list[float] = []
    retry = Retry(min_backoff=Duration(SECOND), max_backoff=Duration(60 * SECOND), random_factor=factor)
    made = [Unit(UnitId(f"s{n:03}", "out"), retry, world) for n in range(units)]
    producers = {f"s{n:03}": [f"s{n - 1:03}"] for n in range(units) if n % 10}

    def decide(step: Callable[[], object]) -> object:
        told, begun = len(events), time.thread_time()
        found = step()
        steps.append(time.thread_time() - begun)
        took.append(steps[-1] / max(1, len(events) - told))
        return found

    supervisor = Supervisor(
        made,
        producers,
        in_order=False,
        clock=lambda: world.now,
        timer=lambda: world.now,
        uniform=dice.random,
        emit=events.append,
    )

    def until(end: float) -> None:
        while not supervisor.done:
            due = decide(supervisor.tick)
            wake = world.now + due if isinstance(due, float) else end
            upcoming = min(end, wake, world.ahead[0][0] if world.ahead else end)
            world.now = max(world.now, upcoming)
            while world.ahead and world.ahead[0][0] <= world.now:
                fact = heapq.heappop(world.ahead)[2]
                decide(lambda fact=fact: supervisor.handle(fact))  # type: ignore[misc]
            if world.now >= end:
                return

    until(100.0)
    world.broken = True
    decide(lambda: supervisor.handle(Lost(GONE, frozenset(unit.streamlet for unit in supervisor.units))))
    until(100.0 + BROKEN_FOR)
    world.broken, repaired = False, world.now
    until(repaired + 200.0)
    ups = [e.time for e in events if isinstance(e, UnitChanged) and e.state == "running" and e.time >= repaired]
    starts = [e for e in events if isinstance(e, UnitChanged) and e.state == "starting" and e.restarts]
    decide(lambda: supervisor.handle(Drain()))
    until(world.now + 100.0)
    assert supervisor.done
    assert len(ups) == units
    waves = max(e.restarts for e in starts)
    peaks = tuple(
        max(Counter(int(e.time * 10) for e in starts if e.restarts == wave).values()) for wave in range(1, waves + 1)
    )
    return Result(len(starts), peaks, max(ups) - repaired, sorted(took), max(steps))


def main() -> None:
    """Print a storm without and one with a random factor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--factors", type=float, nargs="+", default=[0.0, 0.2])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    worst = 0.0
    for factor in options.factors:
        found = storm(options.units, factor, options.seed)
        slow = found.decisions
        worst = max(worst, slow[-1])
        print(f"random-factor {factor:g}, {options.units} units, {found.restarts:,} restarts")
        print(f"  most at one time (0.1 s), wave by wave: {', '.join(map(str, found.peaks))}")
        print(f"  all up {found.last_up:.1f} s after the repair")
        print(
            f"  {len(slow):,} decisions: median {statistics.median(slow) * 1e3:.3f} ms, 99th percentile "
            f"{slow[int(len(slow) * 0.99)] * 1e3:.3f} ms, longest {slow[-1] * 1e3:.3f} ms; "
            f"the longest step {found.longest_step * 1e3:.1f} ms"
        )
    raise SystemExit(worst > _BAR)


if __name__ == "__main__":
    main()
