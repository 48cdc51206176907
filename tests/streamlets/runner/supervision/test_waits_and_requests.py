"""Each kind of wait before a start, crossed with each request that may come meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.facts import Drain, Lost, StopNow
from streamlets.runner.supervision.gate import Opening
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import Bench

_A = frozenset("a")
OPENINGS = {
    "sequential": Opening(producers=_A, sequential=True),
    "sync-open": Opening(producers=_A, opened=1),
    "open-timeout": Opening(producers=_A, opened=1, within=1000.0),
}
WAITS = (*OPENINGS, "open-timeout of an outlet", "a bounded run", "an outlet in a bounded run")


def _waiting(wait: str) -> Bench:
    """Return a bench with a streamlet `b` that waits."""
    outlets = {"b": {"t": 1000.0}} if "outlet" in wait else {}
    openings = {"b": [OPENINGS[wait]]} if wait in OPENINGS else {}
    bench = Bench("ab", openings=openings, outlets=outlets, in_order="bounded" in wait, bounded=True)
    if wait == "an outlet in a bounded run":
        _end_producer(bench)
    assert (bench.state("b"), bench.units["b"].calls) == ("starting", [])
    assert bench.last("b").waiting == {
        "sequential": "waiting for the end of a",
        "a bounded run": "waiting for the end of a",
        "sync-open": "waiting for a",
        "open-timeout": "waiting for a",
    }.get(wait, "waiting for the channel of t")
    return bench


def _end_producer(bench: Bench) -> None:
    bench.started("a")
    bench.ended("a")


def _end_wait(bench: Bench, wait: str) -> None:
    """Let that happen which `b` waits for."""
    if "outlet" in wait:
        bench.answered("b")
    else:
        _end_producer(bench)
    bench.passes(0)


@pytest.mark.parametrize("wait", WAITS)
def test_a_paused_streamlet_waits_again_after_its_resume(wait: str) -> None:
    """It is not started by what it waited for. If that has happened, it starts at once; a channel is asked again."""
    bench = _waiting(wait)
    assert bench.supervisor.pause("b", "paused by ann") == ""
    assert bench.state("b") == "paused"
    if "bounded" in wait:
        return  # a paused streamlet does not keep a bounded run alive
    _end_wait(bench, wait)
    assert (bench.state("b"), bench.units["b"].calls) == ("paused", [])
    assert bench.supervisor.resume("b", "resumed by ann") == ""
    bench.passes(0)
    if "outlet" in wait:
        bench.answered("b")
    assert bench.units["b"].calls == ["start"]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("request_name", ["restart", "scale", "a loss of Spark"])
def test_a_wait_goes_on(wait: str, request_name: str) -> None:
    """Nothing is started before its time; then it is started once, with the number of replicas that was requested."""
    bench = _waiting(wait)
    if request_name == "restart":
        assert bench.supervisor.restart("b", "restarted by ann") == ""
    elif request_name == "scale":
        assert bench.supervisor.scale("b", 3, "scaled by ann") == ""
    else:
        bench.supervisor.handle(Lost(Failure("Java has exited"), "another"))
    bench.passes(1)
    assert (bench.state("b"), bench.units["b"].calls) == ("starting", [])
    assert bench.last("b").waiting.startswith("waiting for ")
    _end_wait(bench, wait)
    assert bench.units["b"].calls == ["start"]
    assert bench.units["b"].replicas == (3 if request_name == "scale" else None)


ENDS: dict[str, Callable[[Bench], object]] = {
    "a drain": lambda bench: bench.supervisor.handle(Drain()),
    "a stop": lambda bench: bench.supervisor.handle(StopNow()),
    "a stop of the query": lambda bench: bench.supervisor.stop_query(UnitId("b"), "stopped by ann"),
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("end", ENDS)
def test_a_wait_is_ended(wait: str, end: str) -> None:
    """The streamlet is stopped, and nothing that happens later starts it."""
    bench = _waiting(wait)
    ENDS[end](bench)
    assert bench.state("b") == "stopped"
    _end_wait(bench, wait)
    bench.passes(2000)
    assert (bench.state("b"), bench.units["b"].calls) == ("stopped", [])
