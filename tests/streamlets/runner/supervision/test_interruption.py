"""Stuck units are interrupted step by step and started again: the supervisor without Spark, on a clock set by hand."""

from __future__ import annotations

import pytest

from blueprint.core_settings import Retry
from streamlets.runner.events.unit_events import BatchStuck, UnitStuck
from streamlets.runner.supervision.facts import Drain, Hung, Overlong, Seen
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import BROKEN, Bench

FRAMES = ("plant.py:7 in slow",)


def _bench(refs: str = "a", **options: object) -> Bench:
    bench = Bench(refs, producers={}, **options)  # type: ignore[arg-type]
    for ref in refs:
        bench.started(ref)
    return bench


def _overlong(bench: Bench, *, restart: bool = True) -> None:
    bench.supervisor.handle(Overlong(bench.units["a"].id, 3, bench.now - 600, restart))


def _located(bench: Bench, batch: int = 3) -> None:
    at = BatchStuck(
        time=bench.now, unit=bench.units["a"].id, batch=batch, since=bench.now - 600, seconds=600.0, frames=FRAMES
    )
    bench.supervisor.handle(Seen(at))


def test_a_stuck_unit_is_only_reported_by_default() -> None:
    """It is located, and goes on."""
    bench = _bench()
    _overlong(bench, restart=False)
    _located(bench)
    bench.passes(1000)
    assert (bench.units["a"].calls, bench.state("a")) == (["start", "locate 3"], "running")


def test_a_stuck_unit_is_stopped_where_it_is_located_and_started_again_after_a_back_off() -> None:
    """Its frames and the reason are the cause of both states, and it counts as a restart."""
    bench = _bench("ab")
    _overlong(bench)
    assert bench.units["a"].calls == ["start", "locate 3"]
    _located(bench)
    cause = "stuck: batch 3 has been running for 10 min"
    last = bench.last("a")
    assert (bench.units["a"].calls[-1], last.state, last.cause, last.frames) == ("stop", "draining", cause, FRAMES)
    bench.ended("a")
    last = bench.last("a")
    assert (last.state, last.cause, last.frames, last.retry_in) == ("backing-off", cause, FRAMES, 1.0)
    bench.passes(1.0)
    assert (bench.units["a"].calls[-1], bench.last("a").restarts) == ("start", 1)
    bench.started("a")
    _overlong(bench)
    _located(bench)
    bench.ended("a", BROKEN)
    assert (bench.last("a").retry_in, bench.units["b"].calls) == (2.0, ["start"])


def test_a_unit_that_does_not_answer_is_stopped_and_then_ended_by_force() -> None:
    """The frames are those that its process has left. Each step is taken once."""
    bench = _bench()
    _overlong(bench)
    assert bench.passes(0) == 5.0
    assert bench.passes(5.0) == 10.0
    assert bench.units["a"].calls == ["start", "locate 3", "stop"]
    bench.passes(10.0)
    assert bench.units["a"].calls == ["start", "locate 3", "stop", "kill"]
    _overlong(bench)
    _located(bench)
    assert bench.passes(1000) is None
    assert bench.units["a"].calls[-2:] == ["kill", "locate 3"]
    bench.ended("a", Failure("its driver process was replaced", FRAMES, disturbance=True))
    last = bench.last("a")
    assert (last.state, last.frames, last.restarts) == ("backing-off", FRAMES, 0)
    assert last.cause.startswith("stuck: batch 3")


def test_a_batch_that_ends_while_it_is_located_is_left_alone() -> None:
    """It only took long. The place of another batch is not its place."""
    bench = _bench()
    _overlong(bench)
    _located(bench, batch=2)
    bench.progressed("a", 10)
    _located(bench)
    bench.passes(1000)
    assert (bench.units["a"].calls, bench.state("a")) == (["start", "locate 3"], "running")
    bench.ended("a", BROKEN)
    assert bench.last("a").cause == "it broke"


@pytest.mark.parametrize(
    ("request_", "state", "more"),
    [("pause", "paused", []), ("restart", "starting", ["start"])],
)
def test_a_request_to_a_unit_that_is_interrupted_is_carried_out_at_its_end(
    request_: str, state: str, more: list[str]
) -> None:
    """It does not wait for a back-off, and the unit is still ended by force."""
    bench = _bench()
    _overlong(bench)
    _located(bench)
    getattr(bench.supervisor, request_)("a", "by ann")
    bench.passes(10.0)
    assert bench.units["a"].calls == ["start", "locate 3", "stop", "kill"]
    bench.ended("a", BROKEN)
    assert (bench.state("a"), bench.units["a"].calls[4:]) == (state, more)


def test_a_stuck_unit_that_is_being_paused_is_interrupted_and_paused() -> None:
    """Otherwise the pause would wait for a batch that never ends."""
    bench = _bench()
    bench.supervisor.pause("a", "by ann")
    _overlong(bench)
    _located(bench)
    assert bench.units["a"].calls == ["start", "drain", "locate 3", "stop"]
    bench.passes(10.0)
    bench.ended("a", BROKEN)
    assert (bench.units["a"].calls[-1], bench.state("a")) == ("kill", "paused")


@pytest.mark.parametrize("before", [True, False], ids=["drained before", "drained after"])
def test_the_end_of_a_run_has_limits_of_its_own(*, before: bool) -> None:
    """No unit is interrupted or started again while the run ends."""
    bench = _bench()
    if before:
        bench.supervisor.handle(Drain())
    _overlong(bench)
    if not before:
        _located(bench)
        bench.supervisor.handle(Drain())
    _located(bench)
    bench.passes(1000)
    assert "kill" not in bench.units["a"].calls
    assert bench.units["a"].calls.count("stop") == (not before)
    bench.ended("a")
    assert (bench.state("a"), bench.supervisor.done) == ("stopped", True)


def test_without_restarts_a_stuck_unit_fails_for_good() -> None:
    """The reason says both."""
    bench = _bench(retry=Retry(enabled=False))
    _overlong(bench)
    _located(bench)
    bench.ended("a")
    last = bench.last("a")
    assert (last.state, last.frames) == ("failed", FRAMES)
    assert last.cause == "stuck: batch 3 has been running for 10 min (restarts are off)"


def _hung(bench: Bench, *, restart: bool = True) -> None:
    event = UnitStuck(
        time=bench.now, unit=bench.units["a"].id, what="no sign of life", since=bench.now - 60, frames=FRAMES
    )
    bench.supervisor.handle(Hung(bench.units["a"].run, event, restart))


@pytest.mark.parametrize("restart", [False, True])
def test_a_unit_without_batches_that_is_stuck(*, restart: bool) -> None:
    """It is reported, and with the setting also stopped at once and started again; its line is already known."""
    bench = _bench()
    _hung(bench, restart=restart)
    assert isinstance(bench.events[2 if restart else -1], UnitStuck)
    assert bench.units["a"].calls == ["start", "stop"][: 1 + restart]
    if restart:
        bench.ended("a")
        last = bench.last("a")
        assert (last.state, last.cause, last.frames) == ("backing-off", "stuck: no sign of life for 1 min", FRAMES)


def test_a_unit_that_is_stuck_while_it_is_started_is_started_again() -> None:
    """Such as a source whose `open` does not return. What an earlier run reports later has no effect."""
    bench = Bench("a", producers={})
    _hung(bench)
    assert bench.state("a") == "draining"
    bench.started("a")
    bench.ended("a")
    assert bench.state("a") == "backing-off"
    _hung(bench)
    bench.passes(1.0)
    bench.units["a"].run -= 1
    _hung(bench)
    assert bench.units["a"].calls == ["start", "stop", "start"]
