"""Pausing, resuming and restarting single streamlets, and the limits of a drain: the supervisor without Spark."""

from __future__ import annotations

import itertools
from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from blueprint.core_settings import Retry
from blueprint.quantities import Duration
from streamlets.runner.events.fusion_events import StreamletsFused
from streamlets.runner.events.run_events import RunStopping, StreamletScaled
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.supervision.facts import Became, Drain, Seen, StopNow
from streamlets.spark.failure import Failure
from tests.random_examples import examples
from tests.streamlets.runner.supervision.bench import BROKEN, Bench, Fake, unit_id


def test_pause_drains_a_streamlet_until_it_is_resumed() -> None:
    """It is `draining` until its batch is finished, then `paused` with the cause, and starts again when resumed."""
    bench = Bench("ab")
    bench.started("a")
    bench.started("b")
    assert bench.supervisor.pause("b", "paused by ann") == ""
    assert (bench.units["b"].calls, bench.state("b")) == (["start", "drain"], "draining")
    assert bench.last("b").cause == "paused by ann"
    bench.ended("b")
    last = bench.last("b")
    assert (last.state, last.cause) == ("paused", "paused by ann")
    bench.passes(10_000)
    assert bench.units["b"].calls == ["start", "drain"]
    assert bench.supervisor.resume("b", "resumed by bob") == ""
    bench.passes(0)
    assert (bench.units["b"].calls[-1], bench.state("b")) == ("start", "starting")
    bench.started("b")
    bench.supervisor.pause("b", "once more")
    assert bench.units["b"].calls == ["start", "drain"] * 2


def test_a_scaled_streamlet_starts_with_its_new_number() -> None:
    """Its queries are drained together, and keep the number when they fail later. None is the setting again. The same
    number again is refused."""
    bench = Bench(["a.x", "a.y", "b"], producers={})
    for ref in bench.units:
        bench.started(ref)
    x, y = bench.units["a.x"], bench.units["a.y"]
    assert bench.supervisor.scale("a", 4, "scaled by ann") == ""
    assert bench.events[-1] == StreamletScaled(bench.now, "a", 4, "scaled by ann")
    assert (bench.state("a.x"), bench.last("a.x").cause) == ("draining", "scaled by ann")
    assert bench.units["b"].calls == ["start"]
    bench.ended("a.x")
    assert x.calls == ["start", "drain"], "both wait for the last one, as they share a session of Spark"
    bench.ended("a.y")
    assert (x.calls, y.calls, x.replicas, y.replicas) == (
        ["start", "drain", "start"],
        ["start", "drain", "start"],
        4,
        4,
    )
    for ref in ("a.x", "a.y"):
        bench.started(ref)
    bench.ended("a.x", BROKEN)
    bench.passes(10)
    assert (x.calls[-1], x.replicas) == ("start", 4)
    assert bench.supervisor.scale("a", 4, "again") == "`a` has this number of replicas already"
    assert bench.supervisor.scale("c", 4, "again") == "there is no streamlet `c`"
    bench.started("a.x")
    assert bench.supervisor.scale("a", None, "back") == ""
    bench.ended("a.x")
    bench.ended("a.y")
    assert (x.replicas, y.replicas) == (None, None)
    bench.supervisor.handle(Drain())
    assert bench.supervisor.scale("a", 2, "too late") == "the run is ending"


def test_what_rests_is_scaled_and_not_started() -> None:
    """A streamlet that is paused, completed, stopped or failed begins with the number when someone starts it."""
    bench = Bench("abcde", producers={}, retry=Retry(max_attempts=0))
    for ref in bench.units:
        bench.started(ref)
    bench.supervisor.pause("a", "paused")
    bench.ended("a")
    bench.ended("b", Failure("wrong", fatal="for good"))
    bench.units["c"].bounded = True
    bench.ended("c")
    bench.supervisor.stop_query(unit_id("d"), "stopped")
    bench.ended("d")
    before = {ref: bench.state(ref) for ref in "abcd"}
    assert before == {"a": "paused", "b": "failed", "c": "completed", "d": "stopped"}
    for ref in "abcd":
        assert bench.supervisor.scale(ref, 3, "scaled") == ""
    bench.passes(1000)
    assert {ref: bench.state(ref) for ref in "abcd"} == before
    assert bench.supervisor.resume("a", "resumed") == ""
    for ref in "bcd":
        assert bench.supervisor.restart(ref, "restarted") == ""
    bench.passes(0)
    assert [bench.units[ref].replicas for ref in "abcd"] == [3, 3, 3, 3]


def test_a_streamlet_may_be_scaled_while_it_starts_or_waits() -> None:
    """It starts once more with the new number if it was started with the old one, also when it has become queries, and
    a back-off ends; a restart that is requested meanwhile changes nothing. A stop of a query is kept."""
    bench = Bench("abc", producers={})
    assert bench.supervisor.scale("a", 2, "scaled") == ""
    assert bench.supervisor.restart("a", "restarted") == ""
    bench.started("a")
    assert bench.units["a"].calls == ["start", "drain"]
    bench.ended("a")
    assert (bench.units["a"].calls, bench.units["a"].replicas) == (["start", "drain", "start"], 2)
    assert bench.supervisor.scale("b", 2, "scaled") == ""
    bench.units["b.x"] = Fake(unit_id("b.x"))
    bench.supervisor.handle(Became(unit_id("b"), bench.units["b"].run, (bench.units["b.x"],)))
    bench.passes(0)
    assert bench.units["b.x"].replicas == 2
    bench.started("c")
    bench.ended("c", BROKEN)
    assert bench.state("c") == "backing-off"
    assert bench.supervisor.scale("c", 2, "scaled") == ""
    bench.passes(0)
    assert (bench.units["c"].calls, bench.units["c"].replicas) == (["start", "start"], 2)
    bench.started("c")
    bench.supervisor.stop_query(unit_id("c"), "stopped")
    assert bench.supervisor.scale("c", 5, "scaled") == ""
    bench.ended("c")
    assert bench.state("c") == "stopped"


def test_only_units_with_replicas_are_scaled() -> None:
    """A spout has none; the discovery of a batch source goes on while its queries are restarted."""
    bench = Bench(["spout", "source.discovery", "source.tasks"], producers={})
    for ref, reason in (("spout", "a spout does not run on Spark"), ("source.discovery", "there is one")):
        bench.units[ref].unscalable = reason
    for ref in bench.units:
        bench.started(ref)
    assert bench.supervisor.scale("spout", 2, "scaled") == "`spout` has no replicas: a spout does not run on Spark"
    assert bench.supervisor.scale("source", 2, "scaled") == ""
    assert (bench.units["source.discovery"].calls, bench.units["source.tasks"].calls) == (["start"], ["start", "drain"])


def test_a_stopped_query_is_over_and_the_others_go_on() -> None:
    """It is drained, stays stopped with the cause, and neither a failure of the others nor a pause starts it again."""
    bench = Bench(["a.x", "a.y"], producers={})
    bench.started("a.x")
    bench.started("a.y")
    assert bench.supervisor.stop_query(unit_id("a.x"), "stopped by ann") == ""
    assert (bench.units["a.x"].calls, bench.state("a.x")) == (["start", "drain"], "draining")
    bench.ended("a.y", BROKEN)
    bench.passes(5)
    assert bench.units["a.y"].calls == ["start", "start"], "another query does not wait for the stop"
    bench.started("a.y")
    bench.ended("a.x")
    assert (bench.last("a.x").state, bench.last("a.x").cause) == ("stopped", "stopped by ann")
    assert bench.supervisor.stop_query(unit_id("a.x"), "again") == "`a.x` has already stopped"
    assert bench.supervisor.pause("a", "paused by bob") == ""
    bench.ended("a.y")
    assert bench.supervisor.stop_query(unit_id("a.y"), "why") == "`a.y` is paused"
    bench.supervisor.resume("a", "resumed")
    bench.passes(10_000)
    assert (bench.state("a.x"), bench.state("a.y"), bench.supervisor.done) == ("stopped", "starting", False)


def test_the_stop_of_the_last_query_ends_the_run() -> None:
    """A query that waits for its next attempt, or has not started, is stopped at once; a restart starts it again."""
    bench = Bench(["a.x", "b"], producers={})
    bench.started("b")
    bench.ended("b", BROKEN)
    assert (bench.state("b"), bench.supervisor.stop_query(unit_id("b"), "stopped")) == ("backing-off", "")
    assert bench.supervisor.stop_query(unit_id("a.x"), "stopped") == ""
    assert (bench.state("b"), bench.state("a.x"), bench.supervisor.done) == ("stopped", "starting", False)
    bench.started("a.x")
    assert bench.units["a.x"].calls == ["start", "drain"]
    bench.supervisor.restart("b", "restarted")
    bench.passes(0)
    assert (bench.state("b"), bench.units["b"].calls) == ("starting", ["start", "start"])
    bench.started("b")
    bench.supervisor.stop_query(unit_id("b"), "stopped")
    bench.ended("b")
    bench.ended("a.x")
    assert (bench.supervisor.done, bench.supervisor.failed) == (True, ())


def test_stops_that_are_refused() -> None:
    """The query does not exist, its streamlet has not built its queries yet, or the run is ending."""
    bench = Bench(["a", "b.x"], producers={})
    assert bench.supervisor.stop_query(UnitId("c", "x"), "") == "there is no streamlet `c`"
    assert bench.supervisor.stop_query(UnitId("b", "y"), "") == "there is no query `b.y`"
    assert bench.supervisor.stop_query(UnitId("a", "x"), "") == "`a` is starting: try again"
    bench.supervisor.handle(Drain())
    assert bench.supervisor.stop_query(UnitId("b", "x"), "") == "the run is ending"


def test_a_run_with_a_paused_streamlet_goes_on() -> None:
    """The run waits for the resume when all other streamlets are over; a drain ends it."""
    bench = Bench("ab", bounded=True)
    bench.supervisor.pause("b", "why")
    bench.started("a")
    bench.ended("a")
    bench.started("b")
    bench.ended("b")
    assert (bench.state("a"), bench.state("b"), bench.supervisor.done) == ("completed", "paused", False)
    bench.supervisor.handle(Drain())
    assert bench.supervisor.done


def test_a_bounded_run_skips_paused_streamlets() -> None:
    """It does not wait for a resume: the consumers of a paused streamlet start without it."""
    bench = Bench("abc", in_order=True, bounded=True, paused={"b": "paused by ann"})
    assert (bench.state("b"), bench.last("b").cause, bench.units["b"].calls) == ("paused", "paused by ann", [])
    for ref in "ac":
        bench.started(ref)
        bench.ended(ref)
    assert bench.supervisor.done


def test_pause_during_a_back_off_and_during_a_start() -> None:
    """A unit that waits for its next attempt is paused at once; one that is being started is drained once it runs."""
    bench = Bench("ab")
    bench.ended("a", BROKEN)
    bench.supervisor.pause("a", "why")
    assert bench.state("a") == "paused"
    bench.passes(100)
    assert bench.units["a"].calls == ["start"]
    bench.supervisor.pause("b", "why")
    assert bench.units["b"].calls == ["start"]
    bench.started("b")
    assert bench.units["b"].calls == ["start", "drain"]


def test_a_streamlet_paused_while_it_is_built_starts_no_queries() -> None:
    """Its queries are paused as soon as they are known."""
    bench = Bench("a")
    parts = tuple(Fake(unit_id(name)) for name in ("a.x", "a.y"))
    bench.supervisor.pause("a", "why")
    bench.supervisor.handle(Became(unit_id("a"), 1, parts))
    bench.passes(0)
    assert [part.calls for part in parts] == [[], []]
    bench.supervisor.resume("a", "why")
    bench.passes(0)
    assert [part.calls for part in parts] == [["start"], ["start"]]


def test_a_failure_during_a_pause_is_reported_without_a_restart() -> None:
    """A last batch that fails is replayed after the resume."""
    bench = Bench("a")
    bench.started("a")
    bench.supervisor.pause("a", "paused by ann")
    bench.ended("a", Failure("broke", ("user.py:3 in f",), "for good"))
    last = bench.last("a")
    assert (last.state, last.frames) == ("paused", ("user.py:3 in f",))
    assert last.cause == "paused by ann; its last batch failed: broke"


def test_resume_during_the_drain_of_a_pause_starts_again_after_it() -> None:
    """The running batch is finished first: there must never be two concurrent runs of a query."""
    bench = Bench("a")
    bench.started("a")
    bench.supervisor.pause("a", "why")
    assert bench.supervisor.resume("a", "why not") == ""
    assert bench.units["a"].calls == ["start", "drain"]
    bench.ended("a")
    assert bench.units["a"].calls == ["start", "drain", "start"]


def test_restart_drains_all_queries_before_one_starts() -> None:
    """The queries of a streamlet share its readers' stop flag, so they are started again together."""
    bench = Bench(["a.x", "a.y", "b"], producers={})
    for name in bench.units:
        bench.started(name)
    assert bench.supervisor.restart("a", "restarted by ann") == ""
    bench.ended("a.x")
    bench.passes(5)
    assert (bench.state("a.x"), bench.units["a.x"].calls) == ("starting", ["start", "drain"])
    bench.ended("a.y")
    assert [bench.units[name].calls for name in bench.units] == [["start", "drain", "start"]] * 2 + [["start"]]
    assert bench.last("a.x").cause == "restarted by ann"


def test_restart_starts_a_unit_that_failed_for_good_and_forgets_its_failures() -> None:
    """The cause may be fixed: attempts are counted from zero, also for a unit that waits for its next attempt."""
    bench = Bench("ab", retry=Retry(max_attempts=1))
    for _ in range(2):
        bench.ended("a", BROKEN)
        bench.passes(1)
    assert bench.state("a") == "failed"
    bench.supervisor.restart("a", "why")
    bench.passes(0)
    assert bench.state("a") == "starting"
    assert bench.supervisor.failed == ()
    bench.ended("a", BROKEN)
    assert bench.last("a").retry_in == 1.0
    bench.supervisor.restart("a", "why")
    bench.passes(0)
    assert bench.units["a"].calls == ["start"] * 4


def test_impossible_requests_are_refused_with_the_reason() -> None:
    """An unknown streamlet, one that is not paused, has failed or is paused, and the end of the run."""
    bench = Bench("ab")
    supervisor = bench.supervisor
    assert supervisor.pause("x", "why") == "there is no streamlet `x`"
    assert supervisor.resume("a", "why") == "`a` is not paused"
    bench.ended("a", Failure("wrong", fatal="for good"))
    assert supervisor.pause("a", "why") == "`a` has already failed"
    supervisor.pause("b", "why")
    assert supervisor.restart("b", "why") == "`b` is paused: resume it"
    supervisor.handle(Drain())
    assert supervisor.resume("b", "why") == "the run is ending"


def test_a_drain_that_takes_too_long_becomes_a_stop_and_then_an_end() -> None:
    """Batches that run on are aborted at the limit; a unit that does not answer even then does not delay the end."""
    bench = Bench("ab", drain_within=30)
    bench.started("a")
    bench.started("b")
    bench.supervisor.handle(Drain("SIGTERM"))
    assert bench.passes(10) == 20
    bench.passes(20)
    assert bench.units["a"].calls == ["start", "drain", "stop"]
    bench.ended("a")
    assert not bench.supervisor.done
    bench.passes(10)
    assert bench.supervisor.done
    assert bench.last("b").cause == "it did not end within 10 s of the stop"
    stops = [(event.cause, event.at_once, event.within) for event in bench.events if isinstance(event, RunStopping)]
    assert stops == [("SIGTERM", False, 30), ("not drained within 30 s", True, None)]


def test_a_pause_that_takes_too_long_aborts_the_batch() -> None:
    """The drain of a single streamlet has the same limit, and does not affect the others."""
    bench = Bench("ab", drain_within=30)
    bench.started("a")
    bench.started("b")
    bench.supervisor.pause("a", "why")
    bench.passes(30)
    bench.ended("a")
    assert (bench.units["a"].calls, bench.state("a")) == (["start", "drain", "stop"], "paused")
    assert bench.units["b"].calls == ["start"]


def test_only_running_units_are_restarted_when_the_clock_was_set_back() -> None:
    """Units that are paused, backing off or failed for good stay as they are, and those that do not use the clock."""
    bench = Bench("abcde", retry=Retry(max_attempts=1))
    bench.units["e"].wall_clock = False  # a spout, for example
    for ref in "abcde":
        bench.started(ref)
    bench.supervisor.pause("b", "paused by ann")
    bench.ended("b")
    bench.ended("c", BROKEN)
    bench.ended("d", Failure("wrong", fatal="it is wrong"))
    before = {ref: list(bench.units[ref].calls) for ref in "bcde"}
    bench.supervisor.clock_set_back(60)
    assert {ref: bench.units[ref].calls for ref in "bcde"} == before
    assert (bench.state("a"), bench.last("a").cause) == ("draining", "the clock was set back by 60 s")
    bench.ended("a")
    assert bench.units["a"].calls == ["start", "drain", "start"]


def test_fail_fast_drains_the_others() -> None:
    """With `fail_fast` the first failure for good drains the run; without it the others go on."""
    bench = Bench("ab", fail_fast=True)
    bench.started("b")
    bench.ended("a", Failure("wrong", fatal="for good"))
    assert bench.units["b"].calls == ["start", "drain"]
    bench.ended("b")
    assert bench.supervisor.done
    (stopping,) = [event for event in bench.events if isinstance(event, RunStopping)]
    assert stopping.cause == "a failed for good, and --fail-fast is set"


_NAMES = ("a", "b.x", "b.y", "c")
_PRODUCERS = {"b": ["a"], "c": ["b"]}
_STREAMLETS = st.sampled_from("abc")


class _Machine(RuleBasedStateMachine):
    """Commands, failures and completions at any time. The fake units refuse concurrent runs."""

    @initialize(in_order=st.booleans(), bounded=st.booleans(), attempts=st.integers(0, 2), limit=st.booleans())
    def begin(self, in_order: bool, bounded: bool, attempts: int, limit: bool) -> None:
        retry = Retry(max_attempts=attempts, min_backoff=Duration(10**9), max_backoff=Duration(10**10))
        self.bench = Bench(
            _NAMES,
            in_order=in_order,
            bounded=bounded,
            retry=retry,
            producers=_PRODUCERS,
            drain_within=20 if limit else None,
            paused={"c": "before"} if attempts == 2 else None,
        )
        self.in_order = in_order
        self.paused = {"c"} if attempts == 2 else set()
        self.ending = False
        self.restarted: set[UnitId] = set()

    def _up(self) -> list[str]:
        return [name for name, unit in self.bench.units.items() if unit.up]

    @precondition(lambda self: self._up())
    @rule(data=st.data())
    def start_succeeds(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self._up()))
        if self.bench.state(name) == "starting":
            self.bench.started(name)

    @precondition(lambda self: self._up())
    @rule(data=st.data(), failure=st.sampled_from([None, BROKEN, Failure("wrong", fatal="for good")]))
    def ends(self, data: st.DataObject, failure: Failure | None) -> None:
        self.bench.ended(data.draw(st.sampled_from(self._up())), failure)

    @rule(streamlet=_STREAMLETS)
    def pause(self, streamlet: str) -> None:
        if not self.bench.supervisor.pause(streamlet, "paused"):
            self.paused.add(streamlet)

    @rule(streamlet=_STREAMLETS)
    def resume(self, streamlet: str) -> None:
        refusal = self.bench.supervisor.resume(streamlet, "resumed")
        assert bool(refusal) == (streamlet not in self.paused or self.ending)
        if not refusal:
            self.paused.discard(streamlet)
        self.bench.passes(0)

    @rule(streamlet=_STREAMLETS)
    def restart(self, streamlet: str) -> None:
        refusal = self.bench.supervisor.restart(streamlet, "restarted")
        assert bool(refusal) == (streamlet in self.paused or self.ending)
        if not refusal:
            self.restarted |= {unit.id for unit in self.bench.units.values() if unit.id.streamlet == streamlet}
        self.bench.passes(0)

    @rule(name=st.sampled_from(_NAMES))
    def stop(self, name: str) -> None:
        self.bench.supervisor.stop_query(self.bench.units[name].id, "stopped by ann")
        self.bench.passes(0)

    @rule(seconds=st.floats(0, 25))
    def time_passes(self, seconds: float) -> None:
        self.bench.passes(seconds)

    @precondition(lambda self: len(self.bench.events) > 20)
    @rule(at_once=st.booleans())
    def end_is_requested(self, at_once: bool) -> None:
        self.bench.supervisor.handle(StopNow() if at_once else Drain())
        self.ending = True

    @invariant()
    def the_paused_are_over_or_draining(self) -> None:
        """A paused unit is over, is being drained, or is drained once it has started."""
        for name, unit in self.bench.units.items():
            if unit.id.streamlet in self.paused and not self.ending:
                over = self.bench.state(name) in ("paused", "stopped", "completed", "failed")
                assert over or (unit.up and (unit.calls[-1] != "start" or self.bench.state(name) == "starting"))

    @invariant()
    def nothing_else_is_paused(self) -> None:
        """Only a streamlet that was paused is in the state."""
        for name, unit in self.bench.units.items():
            assert self.bench.state(name) != "paused" or unit.id.streamlet in self.paused or self.ending

    @invariant()
    def transitions_are_legal(self) -> None:
        """A unit that is over starts again only when it was paused or restarted."""
        over = {"paused", "stopped", "completed", "failed"}
        allowed = {
            "starting": {"starting", "running", "backing-off"} | over,
            "running": {"draining", "backing-off"} | over,
            "draining": {"starting", "backing-off"} | over,
            "backing-off": {"starting", "stopped", "paused"},
            "paused": {"starting", "paused", "stopped"},
        }
        seen: dict[UnitId, list[str]] = defaultdict(list)
        for event in self.bench.events:
            if isinstance(event, UnitChanged):
                seen[event.unit].append(event.state)
        for id, states in seen.items():
            restart = {"starting"} if id in self.restarted else set()
            assert all(after in allowed.get(before, restart) for before, after in itertools.pairwise(states)), states

    @invariant()
    def the_run_never_hangs(self) -> None:
        """Until it is done a unit is running, is due, or is paused and may be resumed."""
        if not self.bench.supervisor.done:
            assert self._up() or self.bench.supervisor.tick() is not None or self.paused

    @invariant()
    def nothing_is_started_at_the_end(self) -> None:
        """Once an end was requested, no unit is started that was not being started."""
        if self.ending:
            assert "backing-off" not in {self.bench.state(name) for name in _NAMES}
            assert all(unit.up for unit in self.bench.units.values() if self.bench.state(str(unit.id)) == "starting")


TestMachine = _Machine.TestCase
TestMachine.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)


def test_fused_streamlets_are_steered_together() -> None:
    """A request about one of them concerns all, whose causes name it. One query of them cannot be stopped alone."""
    bench = Bench(["a.x", "b.y", "c"], producers={})
    for ref in bench.units:
        bench.started(ref)
    bench.supervisor.handle(Seen(StreamletsFused(bench.now, ("a", "b"), ("rows",))))
    assert bench.supervisor.steering.together_with("b") == ("a", "b")
    assert bench.supervisor.steering.together_with("c") == ("c",)
    assert bench.supervisor.pause("b", "paused by ann") == ""
    assert bench.last("b.y").cause == "paused by ann"
    assert bench.last("a.x").cause == "paused by ann; it is one query with b"
    assert bench.units["c"].calls == ["start"]
    for ref in ("a.x", "b.y"):
        bench.ended(ref)
        assert bench.state(ref) == "paused"
    assert bench.supervisor.restart("a", "again") == "`a` is paused: resume it"
    assert bench.supervisor.stop_query(unit_id("a.x"), "stopped") == "`a.x` is one query with `b`: pause them instead"
    assert bench.supervisor.resume("a", "resumed by bob") == ""
    bench.passes(0)
    assert [bench.state(ref) for ref in ("a.x", "b.y")] == ["starting", "starting"]
    for ref in ("a.x", "b.y"):
        bench.started(ref)
    assert bench.supervisor.restart("b", "restarted by ann") == ""
    for ref in ("a.x", "b.y"):
        bench.ended(ref)
    bench.passes(0)
    assert [bench.units[ref].calls[-2:] for ref in ("a.x", "b.y")] == [["drain", "start"]] * 2


def test_a_streamlet_that_was_paused_before_it_was_fused_pauses_the_others() -> None:
    """The pause is from an earlier run, in which they were not fused."""
    bench = Bench("ab", producers={}, paused={"b": "paused by ann"})
    bench.supervisor.handle(Seen(StreamletsFused(bench.now, ("a", "b"), ("rows",))))
    bench.started("a")
    assert bench.last("a").cause == "paused by ann"
    bench.ended("a")
    assert [bench.state(ref) for ref in "ab"] == ["paused", "paused"]
    bench.supervisor.resume("b", "resumed")
    bench.passes(0)
    assert [bench.units[ref].calls[-1] for ref in "ab"] == ["start", "start"]
