"""Units that wait at their gates, under a supervisor with a clock set by hand."""

from __future__ import annotations

from blueprint.core_settings import Retry
from streamlets.runner.events.run_events import RunStopping
from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.facts import Drain
from streamlets.runner.supervision.gate import Opening
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import BROKEN, Bench

_PRODUCERS = {"c": ["a", "b"]}
_FATAL = Failure("wrong", fatal="for good")


def _bench(
    opened: int = 0, within: float | None = None, *, sequential: bool = False, retry: Retry | None = None
) -> Bench:
    """Return a bench with a streamlet `c` that waits for `a` and `b`."""
    opening = Opening(producers=frozenset("ab"), opened=opened, within=within, sequential=sequential)
    return Bench("abc", producers=_PRODUCERS, openings={"c": [opening]}, retry=retry)


def _calls(bench: Bench) -> list[str]:
    return bench.units["c"].calls


def test_a_sequential_inlet_waits_for_the_end_of_all_producers() -> None:
    """Also in a continuous run; the wait names those that have not ended, and is reported again as they end."""
    bench = _bench(sequential=True)
    assert (bench.state("c"), bench.last("c").waiting) == ("starting", "waiting for the end of a, b")
    bench.units["a"].bounded = bench.units["b"].bounded = True
    for ref in "ab":
        bench.started(ref)
    bench.ended("b")
    assert (bench.state("b"), bench.last("c").waiting, _calls(bench)) == ("completed", "waiting for the end of a", [])
    bench.ended("a")
    assert (bench.last("c").waiting, _calls(bench)) == ("", ["start"])


def test_a_sequential_inlet_waits_for_a_producer_that_backs_off_or_is_paused() -> None:
    """A failure is not an end, as the producer is restarted; a stop on request is one."""
    bench = _bench(sequential=True)
    bench.ended("a", BROKEN)
    assert bench.supervisor.pause("b", "paused by ann") == ""
    bench.started("b")
    bench.ended("b")
    assert (bench.last("c").waiting, _calls(bench)) == ("waiting for the end of a, b (paused)", [])
    assert bench.supervisor.stop_query(UnitId("a"), "stopped by ann") == ""
    bench.passes(10)
    assert bench.last("c").waiting == "waiting for the end of b (paused)"
    bench.supervisor.resume("b", "resumed by ann")
    bench.passes(0)
    assert bench.last("c").waiting == "waiting for the end of b"


def test_sync_open_waits_until_every_producer_is_running() -> None:
    """A producer that has been running once has opened, also if it fails later."""
    bench = _bench(2)
    bench.started("a")
    bench.passes(0)
    assert (bench.last("c").waiting, _calls(bench)) == ("waiting for b", [])
    bench.ended("a", BROKEN)
    bench.started("b")
    bench.passes(0)
    assert _calls(bench) == ["start"]


def test_an_open_timeout_waits_for_one_producer() -> None:
    """The wait has a start and an end, in the time of the wall clock."""
    bench = _bench(1, 30.0)
    waits = bench.last("c")
    assert (waits.waiting, waits.waits_since, waits.waits_until) == ("waiting for a, b", 1000.0, 1030.0)
    assert waits.line == "c: starting, waiting for a, b; 0 s of 30 s"
    assert bench.passes(10) == 20
    bench.started("b")
    bench.passes(0)
    assert _calls(bench) == ["start"]


def test_a_unit_fails_when_its_producers_do_not_open_in_time() -> None:
    """The failure names them; the unit is restarted by its retry settings, and each start waits again."""
    bench = _bench(2, 30.0, retry=Retry(max_attempts=1))
    bench.started("a")
    bench.passes(30)
    change = bench.last("c")
    assert (change.state, change.cause, change.retry_in) == ("backing-off", "b did not open within 30 s", 1.0)
    bench.passes(1)
    assert (bench.state("c"), bench.last("c").waits_until, bench.last("c").restarts) == ("starting", 1061.0, 1)
    bench.passes(30)
    assert bench.last("c").cause == "b did not open within 30 s (abandoned after 1 restart)"
    assert (bench.supervisor.failed, _calls(bench)) == ((UnitId("c"),), [])
    bench.passes(1000)
    assert bench.state("c") == "failed"


def test_a_clock_that_is_set_during_a_wait_changes_nothing() -> None:
    """The limit is kept on the monotonic clock."""
    bench = _bench(1, 30.0)
    for hour in (3600.0, -3600.0):
        bench.set_back = hour
        bench.passes(14)
        assert bench.state("c") == "starting"
    bench.passes(2)
    assert bench.state("c") == "backing-off"


def test_a_paused_unit_does_not_wait() -> None:
    """Its wait begins again when it is resumed."""
    bench = _bench(1, 30.0)
    bench.supervisor.pause("c", "paused by ann")
    bench.passes(60)
    assert bench.state("c") == "paused"
    bench.supervisor.resume("c", "resumed by ann")
    bench.passes(0)
    assert (bench.last("c").waiting, bench.last("c").waits_until) == ("waiting for a, b", 1090.0)


def test_a_restart_waits_at_the_gate_again() -> None:
    """Producers that have opened once in the run are open, so only new waits delay a restart."""
    bench = _bench(2)
    for ref in "ab":
        bench.started(ref)
    bench.passes(0)
    bench.started("c")
    bench.ended("a", BROKEN)
    bench.ended("c", BROKEN)
    bench.passes(1)
    assert _calls(bench) == ["start", "start"]


def test_a_drain_ends_a_wait() -> None:
    """A unit that waits is stopped, and never started."""
    bench = _bench(2, 30.0)
    bench.started("a")
    bench.supervisor.handle(Drain())
    assert (bench.state("c"), _calls(bench)) == ("stopped", [])


def test_a_run_ends_when_all_that_is_left_waits_for_what_has_failed() -> None:
    """Nothing could happen any more without a request, so the run says why and ends; a paused streamlet is awaited."""
    bench = _bench(sequential=True)
    bench.supervisor.pause("a", "paused by ann")
    bench.started("a")
    bench.ended("a")
    bench.ended("b", _FATAL)
    assert bench.passes(1000) is None
    assert (bench.last("c").waiting, bench.supervisor.done) == ("waiting for the end of a (paused), b (failed)", False)
    bench.supervisor.resume("a", "resumed by ann")
    bench.passes(0)
    bench.started("a")
    assert not bench.supervisor.done
    bench.ended("a", _FATAL)
    reason = "nothing can go on: `c` is waiting for the end of a (failed), b (failed)"
    assert (bench.state("c"), bench.supervisor.deadlock) == ("stopped", reason)
    assert [event.cause for event in bench.events if isinstance(event, RunStopping)] == [reason]
    assert bench.supervisor.done
