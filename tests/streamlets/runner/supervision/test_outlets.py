"""Units that wait for the channels of their outlets, under a supervisor with a clock set by hand."""

from __future__ import annotations

import pytest

from blueprint.core_settings import Retry
from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.facts import Became, Drain
from streamlets.runner.supervision.gate import Opening
from tests.streamlets.runner.supervision.bench import BROKEN, Bench, Fake, unit_id

_LIMITS = {"a": {"flights": 30.0}}


def _bench(*, retry: Retry | None = None, in_order: bool = False) -> Bench:
    """Return a bench with a streamlet `a` that waits for the channel of its topic, and its consumer."""
    return Bench("ab", outlets=_LIMITS, retry=retry, in_order=in_order)


@pytest.mark.parametrize("in_order", [False, True], ids=["continuous", "bounded"])
def test_a_unit_starts_when_the_channels_of_its_outlets_accept_records(in_order: bool) -> None:
    """It asks before it starts, and again a second after each refusal; the wait has a start and an end."""
    bench = _bench(in_order=in_order)
    waits = bench.last("a")
    assert waits.line == "a: starting, waiting for the channel of flights; 0 s of 30 s"
    assert (waits.waits_since, waits.waits_until) == (1000.0, 1030.0)
    assert bench.questions == [(UnitId("a"), ("flights",))]
    bench.passes(5)
    assert len(bench.questions) == 1, "an answer is awaited"
    bench.answered("a", flights="no broker")
    assert (bench.units["a"].calls, bench.passes(0.5), len(bench.questions)) == ([], 0.5, 1)
    bench.passes(0.5)
    assert len(bench.questions) == 2
    bench.answered("a")
    assert bench.units["a"].calls == ["start"]


def test_a_unit_fails_when_a_channel_does_not_accept_records_in_time() -> None:
    """The failure has the answer of the channel; the unit is restarted by its retry settings, and waits again."""
    bench = _bench(retry=Retry(max_attempts=1))
    bench.answered("a", flights="no broker")
    bench.passes(30)
    change = bench.last("a")
    assert (change.state, change.retry_in) == ("backing-off", 1.0)
    assert change.cause == "the channel of flights did not accept records within 30 s: no broker"
    bench.passes(1)
    assert (bench.state("a"), bench.last("a").waits_until, bench.last("a").restarts) == ("starting", 1061.0, 1)
    bench.passes(30)
    assert bench.last("a").cause == (
        "the channel of flights did not accept records within 30 s: it has not answered (abandoned after 1 restart)"
    )
    bench.answered("a")
    assert (bench.state("a"), bench.units["a"].calls) == ("failed", [])


def test_each_start_asks_again() -> None:
    """A server that was up at the first start may be down at the next one."""
    bench = _bench()
    bench.answered("a")
    bench.started("a")
    bench.ended("a", BROKEN)
    bench.passes(1)
    assert (bench.last("a").waiting, bench.units["a"].calls) == ("waiting for the channel of flights", ["start"])
    bench.answered("a")
    assert bench.units["a"].calls == ["start", "start"]


def test_the_queries_of_a_streamlet_start_with_it() -> None:
    """The channels have answered just before, for the streamlet."""
    bench = _bench()
    bench.answered("a")
    query = Fake(unit_id("a.x"))
    bench.supervisor.handle(Became(UnitId("a"), 1, (query,)))
    bench.supervisor.tick()
    assert (query.calls, len(bench.questions)) == (["start"], 1)


def test_the_channels_are_asked_after_the_inlets_have_opened() -> None:
    """The limit of an outlet does not count while its streamlet waits for producers, and is not a reason to fail."""
    opening = Opening(producers=frozenset("a"), sequential=True)
    bench = Bench("ab", openings={"b": [opening]}, outlets={"b": {"means": 30.0}})
    bench.units["a"].bounded = True
    bench.passes(100)
    assert (bench.last("b").waiting, bench.questions) == ("waiting for the end of a", [])
    bench.started("a")
    bench.ended("a")
    assert (bench.last("b").waiting, bench.last("b").waits_until) == ("waiting for the channel of means", 1130.0)
    bench.answered("b")
    assert bench.units["b"].calls == ["start"]


@pytest.mark.parametrize("hour", [3600.0, -3600.0])
def test_a_clock_that_is_set_during_the_wait_changes_nothing(hour: float) -> None:
    """The limit is kept on the monotonic clock."""
    bench = _bench()
    bench.set_back = hour
    bench.passes(29)
    assert bench.state("a") == "starting"
    bench.passes(1)
    assert bench.state("a") == "backing-off"


def test_a_late_answer_starts_nothing() -> None:
    """The unit was paused, or the run is ending, when the channel answers; after a resume it is asked again."""
    bench = _bench()
    bench.supervisor.pause("a", "paused by ann")
    bench.answered("a")
    assert (bench.state("a"), bench.units["a"].calls) == ("paused", [])
    bench.supervisor.resume("a", "resumed by ann")
    bench.passes(0)
    assert (len(bench.questions), bench.units["a"].calls) == (2, [])
    bench.supervisor.handle(Drain())
    bench.answered("a")
    assert (bench.state("a"), bench.units["a"].calls) == ("stopped", [])


def test_a_wait_for_a_channel_is_not_a_deadlock() -> None:
    """Its limit ends it."""
    bench = Bench("a", outlets=_LIMITS)
    assert bench.passes(5) == 25.0
    assert (bench.supervisor.deadlock, bench.supervisor.ending) == ("", False)
