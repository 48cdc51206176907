"""The restarts of many units after a common failure, simulated as in the benchmark."""

from __future__ import annotations

import pytest

from benchmarks.supervisor import storm
from blueprint.core_settings import Retry
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import BROKEN, Bench

UNITS = 60


def test_a_storm_of_restarts_is_spread() -> None:
    """After a common failure each wave of restarts is wider than the one before, whatever the random factor, and all
    units come up again in the end."""
    for factor in (0.0, 0.2):
        spread = storm(UNITS, factor, 1)
        assert max(spread.peaks) < UNITS
        assert spread.peaks[3] < UNITS / 4


def test_units_that_failed_together_are_spread_without_settings() -> None:
    """Only the first of them waits for exactly its delay; a unit that fails later by itself has no jitter."""
    refs = [f"s{number:03}" for number in range(20)]
    bench = Bench(refs, producers={}, uniform=iter([n / 20 for n in range(20)]).__next__)
    for ref in refs:
        bench.started(ref)
    for ref in refs:
        bench.ended(ref, BROKEN)
    waits = [bench.last(ref).retry_in or 0.0 for ref in refs]
    assert waits[0] == 1.0
    assert waits[1:] == sorted(set(waits[1:]))
    assert max(waits) == pytest.approx(1.475)


def test_failures_of_the_machine_do_not_use_up_the_attempts() -> None:
    """A unit with one attempt is started again after each of them, later each time, and then has its attempt."""
    bench = Bench("a", retry=Retry(max_attempts=1), producers={})
    for wait in (1, 2, 4, 8):
        bench.started("a")
        bench.ended("a", Failure("the machine is overloaded", disturbance=True))
        assert (bench.state("a"), bench.last("a").retry_in, bench.last("a").restarts) == ("backing-off", wait, 0)
        bench.passes(wait)
    bench.ended("a", BROKEN)
    assert (bench.state("a"), bench.last("a").retry_in) == ("backing-off", 1)
    bench.passes(1)
    bench.ended("a", BROKEN)
    assert (bench.state("a"), bench.last("a").cause) == ("failed", "it broke (abandoned after 1 restart)")


def test_without_restarts_a_failure_of_the_machine_is_final() -> None:
    """`enabled = false` means that nothing is started again."""
    bench = Bench("a", retry=Retry(enabled=False), producers={})
    bench.ended("a", Failure("the machine is overloaded", disturbance=True))
    assert bench.state("a") == "failed"
