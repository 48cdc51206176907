"""The supervisor: starts, restarts and stops, without Spark and with a clock set by hand."""

from __future__ import annotations

import itertools
from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from blueprint.core_settings import Retry
from blueprint.quantities import Duration
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed, UnitSplit
from streamlets.runner.supervision.facts import Became, Drain, Ended, Lost, Started, StopNow
from streamlets.spark.failure import Failure
from tests.random_examples import examples
from tests.streamlets.runner.supervision.bench import BROKEN, Bench, Fake


def test_all_start_at_once() -> None:
    """An unbounded run starts every streamlet at once, without waiting for its producers."""
    bench = Bench("abc")
    assert [unit.calls for unit in bench.units.values()] == [["start"]] * 3


def test_bounded_run_goes_in_topological_order() -> None:
    """A streamlet of a bounded run starts once its producers are over, also if one of them failed for good."""
    bench = Bench("abc", in_order=True, bounded=True)
    assert [bench.units[ref].calls for ref in "abc"] == [["start"], [], []]
    assert bench.last("b").waiting == "waiting for the end of a"
    bench.started("a")
    bench.ended("a")
    assert bench.state("a") == "completed"
    assert bench.units["b"].calls == ["start"]
    bench.started("b")
    bench.ended("b", Failure("wrong", fatal="for good"))
    assert bench.units["c"].calls == ["start"]


def test_failure_backs_off_and_restarts() -> None:
    """A failed unit waits 1, then 2 seconds, and is started again with a new run number."""
    bench = Bench("a")
    bench.started("a")
    bench.ended("a", BROKEN)
    assert (bench.state("a"), bench.last("a").retry_in) == ("backing-off", 1.0)
    assert bench.passes(0.5) == 0.5
    assert bench.units["a"].calls == ["start"]
    bench.passes(0.5)
    assert (bench.units["a"].calls, bench.units["a"].run, bench.state("a")) == (["start"] * 2, 2, "starting")
    bench.ended("a", BROKEN)
    assert bench.last("a").retry_in == 2.0


def test_the_status_says_which_hook_failed() -> None:
    """A failed start is repeated, a failed stop is final; for a unit that was to end it is only the cause."""
    bench = Bench("abcd")
    bench.ended("a", Failure("`on_start` failed: OSError: refused", hook="on_start"))
    assert (bench.state("a"), bench.last("a").hook) == ("backing-off", "on_start")
    failed = Failure("`on_stop` failed: OSError: full", fatal="it has ended", hook="on_stop")
    bench.started("b")
    bench.ended("b", failed)
    assert (bench.state("b"), bench.last("b").hook) == ("failed", "on_stop")
    assert bench.last("b").cause == "`on_stop` failed: OSError: full (it has ended)"
    bench.started("c")
    assert bench.supervisor.pause("c", "paused by me") == ""
    bench.ended("c", failed)
    assert (bench.state("c"), bench.last("c").hook) == ("paused", "on_stop")
    assert bench.last("c").cause == "paused by me; `on_stop` failed: OSError: full"
    bench.started("d")
    bench.supervisor.handle(StopNow())
    bench.ended("d", failed)
    assert (bench.state("d"), bench.last("d").cause) == ("stopped", "`on_stop` failed: OSError: full")
    assert bench.last("a").hook == "", "the next state is not about the hook"


def test_the_count_of_a_stable_unit_is_reset() -> None:
    """After rows and the stable period, the next failure waits the shortest delay again."""
    bench = Bench("a")
    for _ in range(3):
        bench.ended("a", BROKEN)
        bench.passes(100)
    bench.started("a")
    bench.progressed("a", 10)
    bench.now += 60
    bench.ended("a", BROKEN)
    assert bench.last("a").retry_in == 1.0


def test_fatal_failure_is_not_retried_and_others_go_on() -> None:
    """A failure that no restart can fix is for good at once; the others keep running."""
    bench = Bench("ab")
    bench.started("b")
    bench.ended("a", Failure("wrong column", ("user.py:3 in build",), "Spark refuses the plan"))
    assert bench.last("a").cause == "wrong column (Spark refuses the plan)"
    assert (bench.state("a"), bench.state("b"), bench.supervisor.done) == ("failed", "running", False)
    assert bench.supervisor.failed == (UnitId("a", ""),)


def test_attempts_run_out() -> None:
    """With `max-attempts = 2` the third failure is the last, which is in its cause."""
    bench = Bench("a", retry=Retry(max_attempts=2))
    for _ in range(2):
        bench.ended("a", BROKEN)
        bench.passes(100)
    bench.ended("a", BROKEN)
    assert bench.last("a").cause == "it broke (abandoned after 2 restarts)"
    assert bench.supervisor.done


def test_a_unit_of_a_bounded_run_fails_for_good_only_without_progress() -> None:
    """It is restarted after the same failure as long as rows are processed in between."""
    bench = Bench("a", in_order=True, bounded=True)
    for _ in range(10):
        bench.started("a")
        bench.progressed("a", 1)
        bench.ended("a", BROKEN)
        bench.passes(10_000)
    assert bench.state("a") == "starting"
    for _ in range(3):
        bench.ended("a", BROKEN)
        bench.passes(10_000)
    assert bench.last("a").cause == "it broke (abandoned after 12 restarts)"
    assert bench.supervisor.done


def test_an_unbounded_run_never_abandons_a_unit_by_itself() -> None:
    """Without `max-attempts` it restarts a unit after the same failure any number of times."""
    bench = Bench("a")
    for _ in range(20):
        bench.ended("a", BROKEN)
        bench.passes(10_000)
    assert bench.state("a") == "starting"


def test_an_end_without_a_request_is_a_failure() -> None:
    """An unbounded query that just ends is restarted."""
    bench = Bench("a")
    bench.started("a")
    bench.ended("a")
    assert (bench.state("a"), bench.last("a").cause) == ("backing-off", "it ended without a request to stop")


def test_facts_of_an_earlier_run_are_ignored() -> None:
    """An end that is reported twice, or late, has no effect."""
    bench = Bench("a")
    late = Ended(bench.units["a"].id, bench.units["a"].run, BROKEN)
    bench.ended("a", BROKEN)
    bench.passes(1)
    before = len(bench.events)
    bench.supervisor.handle(late)
    assert len(bench.events) == before


def test_streamlet_becomes_its_queries() -> None:
    """Queries replace their streamlet in the order, and its consumers wait for all of them."""
    bench = Bench("ab", in_order=True, bounded=True)
    parts = (Fake(UnitId("a", "x"), bounded=True), Fake(UnitId("a", "y"), bounded=True))
    bench.supervisor.handle(Became(UnitId("a", ""), 1, parts))
    assert UnitSplit(bench.now, UnitId("a"), ("x", "y")) in bench.events
    bench.supervisor.tick()
    assert [str(unit) for unit in bench.supervisor.units] == ["a.x", "a.y", "b"]
    for part in parts:
        assert bench.units["b"].calls == []
        bench.supervisor.handle(Started(part.id, part.run))
        bench.supervisor.handle(Ended(part.id, part.run))
        bench.supervisor.tick()
    assert bench.units["b"].calls == ["start"]


def test_producers_are_drained_first() -> None:
    """A consumer is drained only when its producers have stopped."""
    bench = Bench("abc")
    for ref in "abc":
        bench.started(ref)
    bench.supervisor.handle(Drain())
    for ref, later in (("a", "bc"), ("b", "c"), ("c", "")):
        assert bench.units[ref].calls == ["start", "drain"]
        assert all(bench.units[other].calls == ["start"] for other in later)
        bench.ended(ref)
        assert bench.state(ref) == "stopped"
    assert bench.supervisor.done


def test_drain_does_not_wait_for_long_batches_of_producers() -> None:
    """After two seconds consumers are drained although their producers still finish a batch; a unit that starts later
    is drained at once, too."""
    bench = Bench("abc")
    bench.started("a")
    bench.started("b")
    bench.supervisor.handle(Drain())
    bench.passes(1.5)
    assert bench.units["b"].calls == ["start"]
    assert bench.passes(0.5) is None
    assert [bench.units[ref].calls for ref in "abc"] == [["start", "drain"], ["start", "drain"], ["start"]]
    bench.started("c")
    assert bench.units["c"].calls == ["start", "drain"]
    for ref in "cba":
        bench.ended(ref)
    assert bench.supervisor.done


def test_a_clock_that_is_set_back_delays_nothing() -> None:
    """Waits use a monotonic clock: a restart and the limit of a drain are on time. Events have the time of the wall
    clock."""
    bench = Bench("a", drain_within=30)
    bench.started("a")
    bench.ended("a", BROKEN)
    bench.set_back = 3600.0
    bench.passes(1)
    assert (bench.state("a"), bench.last("a").time) == ("starting", 1001.0 - 3600.0)
    bench.started("a")
    bench.supervisor.handle(Drain())
    bench.set_back = 7200.0
    bench.passes(30)
    assert bench.units["a"].calls == ["start", "start", "drain", "stop"]


def test_a_cycle_is_drained_as_a_whole() -> None:
    """Its streamlets have no order, so all are drained at once."""
    bench = Bench("ab", producers={"a": ["b"], "b": ["a"]})
    bench.started("a")
    bench.started("b")
    bench.supervisor.handle(Drain())
    assert bench.units["a"].calls == bench.units["b"].calls == ["start", "drain"]


def test_drain_catches_up_with_a_unit_that_is_starting() -> None:
    """A unit in the middle of its start is drained once it runs."""
    bench = Bench("a")
    bench.supervisor.handle(Drain())
    assert bench.units["a"].calls == ["start"]
    bench.started("a")
    assert bench.units["a"].calls == ["start", "drain"]


def test_no_restart_while_draining() -> None:
    """A unit that is backing off is stopped; one that fails in its last batch is stopped with that cause."""
    bench = Bench("ab")
    bench.ended("a", BROKEN)
    bench.started("b")
    bench.supervisor.handle(Drain())
    assert bench.state("a") == "stopped"
    bench.ended("b", BROKEN)
    assert (bench.state("b"), bench.last("b").cause) == ("stopped", "its last batch failed: it broke")
    assert bench.supervisor.done


def test_second_request_stops_at_once() -> None:
    """During a drain, a stop ends all running units at once, without an order."""
    bench = Bench("ab")
    bench.started("a")
    bench.started("b")
    bench.supervisor.handle(Drain())
    bench.supervisor.handle(StopNow())
    assert bench.units["a"].calls == ["start", "drain", "stop"]
    assert bench.units["b"].calls == ["start", "stop"]


def test_started_units_are_restarted_when_spark_is_lost() -> None:
    """Each started unit backs off by itself, and its later reports are ignored. A unit that waits for its producers
    goes on waiting. With restarts off, the units fail for good."""
    bench = Bench("ab", in_order=True, bounded=True)
    bench.supervisor.handle(Lost(Failure("the JVM exited"), "spark"))
    change = bench.last("a")
    assert (change.state, change.cause, change.retry_in) == ("backing-off", "the JVM exited", 1.0)
    assert bench.state("b") == "starting"
    bench.ended("a", Failure("the socket is closed"))
    assert bench.last("a") is change
    bench.passes(1.0)
    assert bench.units["a"].calls == ["start", "start"]

    bench = Bench("ab", retry=Retry(enabled=False))
    bench.supervisor.handle(Lost(Failure("the JVM exited"), "spark"))
    assert bench.supervisor.done
    assert len(bench.supervisor.failed) == 2


def test_the_loss_of_a_host_leaves_the_units_on_others_running() -> None:
    """Also those of the same streamlet: a source that discovers in the runner what its queries read on Spark."""
    bench = Bench(["a.query", "a.discovery"])
    bench.units["a.discovery"].host = "discovery"
    for name in bench.units:
        bench.started(name)
    bench.supervisor.handle(Lost(Failure("the JVM exited"), "spark"))
    assert (bench.state("a.query"), bench.state("a.discovery")) == ("backing-off", "running")
    bench.progressed("a.discovery", 1)
    assert isinstance(bench.events[-1], UnitProgressed)


def test_a_loss_of_spark_while_draining_ends_the_run() -> None:
    """No unit is started again during a drain."""
    bench = Bench("ab")
    bench.started("a")
    bench.started("b")
    bench.supervisor.handle(Drain())
    bench.supervisor.handle(Lost(Failure("the JVM exited"), "spark"))
    assert [bench.state(ref) for ref in "ab"] == ["stopped", "stopped"]
    assert bench.supervisor.done
    assert bench.supervisor.failed == ()


class _Machine(RuleBasedStateMachine):
    """All that can happen to four units, in any order."""

    @initialize(in_order=st.booleans(), bounded=st.booleans(), attempts=st.integers(0, 3))
    def begin(self, in_order: bool, bounded: bool, attempts: int) -> None:
        retry = Retry(max_attempts=attempts, min_backoff=Duration(10**9), max_backoff=Duration(10**10))
        producers = {"b": ["a"], "c": ["a"], "d": ["b", "c"]}
        self.bench = Bench("abcd", in_order=in_order, bounded=bounded, retry=retry, producers=producers)
        self.in_order, self.producers, self.attempts = in_order, producers, attempts
        self.ending = False
        self.up: set[str] = set()

    def _live(self) -> list[str]:
        last = {ref: unit.calls.count("start") for ref, unit in self.bench.units.items()}
        return [ref for ref, starts in last.items() if starts and ref not in self.over()]

    def over(self) -> set[str]:
        return {ref for ref in "abcd" if self.bench.state(ref) not in ("starting", "running", "draining")}

    @precondition(lambda self: self._live())
    @rule(data=st.data())
    def start_succeeds(self, data: st.DataObject) -> None:
        self.bench.started(data.draw(st.sampled_from(self._live())))

    @precondition(lambda self: self._live())
    @rule(data=st.data(), failure=st.sampled_from([None, BROKEN, Failure("wrong", fatal="for good")]))
    def ends(self, data: st.DataObject, failure: Failure | None) -> None:
        self.bench.ended(data.draw(st.sampled_from(self._live())), failure)

    @precondition(lambda self: self._live())
    @rule(data=st.data(), rows=st.integers(0, 2))
    def progresses(self, data: st.DataObject, rows: int) -> None:
        self.bench.progressed(data.draw(st.sampled_from(self._live())), rows)

    @rule(seconds=st.floats(0, 100))
    def time_passes(self, seconds: float) -> None:
        self.bench.passes(seconds)

    @rule()
    def drain_is_requested(self) -> None:
        self.bench.supervisor.handle(Drain())
        self.ending = True

    @rule()
    def stop_is_requested(self) -> None:
        self.bench.supervisor.handle(StopNow())
        self.ending = True

    @invariant()
    def transitions_are_legal(self) -> None:
        """Only allowed changes of state occur, and a final state is the last."""
        allowed = {
            "starting": {"starting", "running", "backing-off", "stopped", "completed", "failed"},
            "running": {"draining", "backing-off", "stopped", "completed", "failed"},
            "draining": {"backing-off", "stopped", "completed", "failed"},
            "backing-off": {"starting", "stopped"},
        }
        seen: dict[UnitId, list[str]] = defaultdict(list)
        for event in self.bench.events:
            if isinstance(event, UnitChanged):
                seen[event.unit].append(event.state)
        for states in seen.values():
            assert all(after in allowed.get(before, set()) for before, after in itertools.pairwise(states))

    @invariant()
    def order_is_kept(self) -> None:
        """In a bounded run no streamlet starts before its producers are over."""
        for ref, before in self.producers.items() if self.in_order else ():
            if "start" in self.bench.units[ref].calls:
                assert all(self.bench.state(producer) in ("stopped", "completed", "failed") for producer in before)

    @invariant()
    def restarts_are_limited(self) -> None:
        """No unit is restarted more often in a row than its settings allow."""
        assert all(e.restarts <= self.attempts for e in self.bench.events if isinstance(e, UnitChanged))

    @invariant()
    def something_is_awaited_until_done(self) -> None:
        """The run never hangs: until it is done, a unit is running, is due, or must report a fact."""
        if not self.bench.supervisor.done:
            assert self._live() or self.bench.supervisor.tick() is not None

    @invariant()
    def ending_restarts_nothing(self) -> None:
        """Once an end was requested, no unit backs off."""
        if self.ending:
            assert "backing-off" not in {self.bench.state(ref) for ref in "abcd"}


TestMachine = _Machine.TestCase
TestMachine.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)
