"""Streamlets that end when their producers have ended, under a supervisor with a clock set by hand."""

from __future__ import annotations

from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.facts import Became, Drain
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import BROKEN, Bench, Fake

_FATAL = Failure("wrong", fatal="for good")
_LAST = ["start", "drain", "start last"]


def _bench(refs: str = "abc", **options: object) -> Bench:
    """Return a bench of a chain whose first streamlet ends by itself, and the others with their producers."""
    bench = Bench(refs, ending=refs[1:], **options)  # type: ignore[arg-type]
    bench.units[refs[0]].bounded = True
    for ref in refs:
        bench.started(ref)
    return bench


def _finishes(bench: Bench, ref: str) -> None:
    """Let a streamlet end its endless run and its last one."""
    bench.ended(ref)
    bench.started(ref)
    bench.ended(ref)


def test_a_finite_pipeline_ends_by_itself() -> None:
    """Each streamlet is drained when its producers have ended, reads the rest in a last run, and completes."""
    bench = _bench()
    bench.ended("a")
    assert [bench.units[ref].calls for ref in "abc"] == [["start"], ["start", "drain"], ["start"]]
    assert bench.last("b").line == "b: draining: its producers have ended"
    bench.ended("b")
    assert bench.units["b"].calls == _LAST
    bench.started("b")
    assert (bench.state("b"), bench.units["c"].calls) == ("running", ["start"])
    bench.ended("b")
    assert (bench.state("b"), bench.units["c"].calls) == ("completed", ["start", "drain"])
    _finishes(bench, "c")
    assert [bench.state(ref) for ref in "abc"] == ["completed"] * 3
    assert (bench.supervisor.done, bench.supervisor.failed, bench.supervisor.deadlock) == (True, (), "")


def test_others_go_on() -> None:
    """A streamlet that is not to end with its producers runs until it is stopped."""
    bench = Bench("ab")
    bench.units["a"].bounded = True
    bench.started("a")
    bench.started("b")
    bench.ended("a")
    assert (bench.state("b"), bench.units["b"].calls, bench.supervisor.done) == ("running", ["start"], False)


def test_a_unit_that_starts_late_has_only_its_last_run() -> None:
    """If its producers have ended before, it does not run without an end first; also one that was being started."""
    bench = Bench("ab", ending="b", paused={"b": "paused by ann"})
    bench.units["a"].bounded = True
    bench.ended("a")
    bench.supervisor.resume("b", "resumed by ann")
    bench.passes(0)
    assert bench.units["b"].calls == ["start last"]
    bench = Bench("ab", ending="b")
    bench.units["a"].bounded = True
    bench.ended("a")
    assert bench.units["b"].calls == ["start"]
    bench.started("b")
    assert bench.units["b"].calls == ["start", "drain"]


def test_a_failure_in_the_last_run_is_repaired_by_another_last_run() -> None:
    """It is restarted as always, to the same end."""
    bench = _bench("ab")
    bench.ended("a")
    bench.ended("b")
    bench.started("b")
    bench.ended("b", BROKEN)
    assert bench.state("b") == "backing-off"
    bench.passes(1)
    assert bench.units["b"].calls == [*_LAST, "start last"]
    bench.ended("b")
    assert bench.supervisor.done


def test_an_early_end_of_an_endless_run_is_a_failure() -> None:
    """Only a last run may end."""
    bench = _bench("ab")
    bench.ended("b")
    assert (bench.state("b"), bench.last("b").cause) == ("backing-off", "it ended without a request to stop")


def test_a_producer_that_is_started_again_is_awaited_again() -> None:
    """A last run that ends meanwhile is not the end: the streamlet goes on, and has another last run."""
    bench = _bench("ab")
    bench.ended("a")
    bench.ended("b")
    bench.started("b")
    bench.supervisor.restart("a", "restarted by ann")
    bench.passes(0)
    bench.started("a")
    bench.ended("b")
    assert (bench.last("b").cause, bench.units["b"].calls) == ("a producer has been started again", [*_LAST, "start"])
    bench.started("b")
    bench.ended("a")
    _finishes(bench, "b")
    assert bench.supervisor.done


def test_a_producer_that_ends_again_during_a_last_run_is_read_to_its_new_end() -> None:
    """The last run may not have seen what it wrote."""
    bench = _bench("ab")
    bench.ended("a")
    bench.ended("b")
    bench.started("b")
    bench.supervisor.restart("a", "restarted by ann")
    bench.passes(0)
    bench.started("a")
    bench.ended("a")
    bench.ended("b")
    assert bench.units["b"].calls == [*_LAST, "start last"]
    bench.ended("b")
    assert bench.supervisor.done


def test_a_failed_producer_is_no_end() -> None:
    """It may be restarted on request as long as something runs; when nothing else can happen, the run ends."""
    bench = _bench("abc")
    bench.ended("a", _FATAL)
    assert bench.state("b") == "draining"
    assert (
        bench.supervisor.deadlock
        == "nothing can go on: `b` is waiting for the end of a (failed); 1 other unit waits, too"
    )
    bench = Bench("abd", producers={"b": ["a"]}, ending="b")
    for ref in "abd":
        bench.started(ref)
    bench.ended("a", _FATAL)
    assert (bench.state("b"), bench.units["b"].calls) == ("running", ["start"])
    bench.units["a"].bounded = True
    bench.supervisor.restart("a", "restarted by ann")
    bench.passes(0)
    bench.started("a")
    bench.ended("a")
    assert bench.units["b"].calls == ["start", "drain"]


def test_all_queries_of_a_streamlet_have_a_last_run() -> None:
    """Also if the streamlet was being built when its producers ended."""
    bench = Bench("ab", ending="b")
    bench.units["a"].bounded = True
    bench.started("a")
    bench.ended("a")
    parts = [Fake(UnitId("b", name)) for name in ("x", "y")]
    bench.supervisor.handle(Became(UnitId("b"), 1, tuple(parts)))
    bench.supervisor.tick()
    assert [part.calls for part in parts] == [["start last"]] * 2


def test_queries_end_with_what_feeds_them_on_another_host() -> None:
    """The queries of a batch source end when its discovery has completed; one that goes on has no end."""
    for bounded, calls in ((True, ["start", "drain"]), (False, ["start"])):
        bench = Bench(["a.discovery", "a.query"], producers={}, ending="a")
        bench.units["a.discovery"].host, bench.units["a.discovery"].bounded = "discovery", bounded
        for name in bench.units:
            bench.started(name)
        bench.ended("a.discovery", None if bounded else BROKEN)
        assert bench.units["a.query"].calls == calls


def test_a_drain_ends_a_last_run() -> None:
    """The streamlet is stopped, and reads the rest in the next run."""
    bench = _bench("ab")
    bench.ended("a")
    bench.ended("b")
    bench.started("b")
    bench.supervisor.handle(Drain())
    bench.ended("b")
    assert (bench.state("b"), bench.supervisor.done) == ("stopped", True)
