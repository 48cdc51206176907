"""What goes wrong with ports, hooks and replicas, one after the other: each has one clear answer, and loses nothing.

Two applications that write one topic of Kafka need a broker: `test_internal_names.py` has their claims, and
`test_resources_on_kafka.py` the topic that is not deleted because another application has created it.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from blueprint.core_settings import Retry
from blueprint.plan import ApplicationPlan
from streamlets import StopCause
from streamlets.runner.orders import Orders
from streamlets.runner.state_directory.control import Request
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Drain
from streamlets.runner.supervision.gate import Opening
from streamlets.runner.topics import make_topics
from streamlets.runner.units.hooks import HookError
from streamlets.spark.failure import Failure
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.streamlets.channels.topics import add, topic_plan
from tests.streamlets.runner.supervision.bench import BROKEN, Bench
from tests.streamlets.runner.units.test_hooks import WHOLE
from tests.streamlets.runner.units.test_hooks import Bench as Hooks

_PRODUCER = frozenset("a")
_LIMITED = Opening(producers=_PRODUCER, opened=1, within=30.0)
_FATAL = Failure("wrong", fatal="for good")


def _bench(opening: Opening) -> Bench:
    """Return a bench with a producer `a` and a consumer `b`, which waits for it."""
    return Bench("ab", openings={"b": [opening]}, retry=Retry(max_attempts=1))


def _never_opens(bench: Bench) -> None:
    """The producer is not up after the limit, also not at the second attempt."""
    bench.passes(30)
    assert (bench.state("b"), bench.last("b").cause) == ("backing-off", "a did not open within 30 s")
    bench.passes(1)
    bench.passes(30)


def _opens_and_dies(bench: Bench) -> None:
    """A failure after it was up does not close it: the consumer starts, and reads what was written."""
    bench.started("a")
    bench.ended("a", BROKEN)
    bench.passes(0)
    assert bench.units["b"].calls == ["start"]
    bench.started("b")
    bench.passes(1)
    bench.ended("a", _FATAL)


@pytest.mark.parametrize(
    ("happens", "opening", "state", "cause"),
    [
        (_never_opens, _LIMITED, "failed", "a did not open within 30 s (abandoned after 1 restart)"),
        (_opens_and_dies, _LIMITED, "running", ""),
    ],
    ids=["a producer that never opens", "one that opens and dies"],
)
def test_a_producer_that_is_not_there(
    happens: Callable[[Bench], None], opening: Opening, state: str, cause: str
) -> None:
    """The consumer fails with its name, or goes on."""
    bench = _bench(opening)
    happens(bench)
    assert (bench.state("b"), bench.last("b").cause) == (state, cause)


def test_one_that_dies_before_a_sequential_inlet() -> None:
    """A failure is not an end, so the consumer waits; nothing else can happen, so the run ends and says why."""
    bench = _bench(Opening(producers=_PRODUCER, sequential=True))
    bench.started("a")
    bench.ended("a", _FATAL)
    assert bench.supervisor.deadlock == "nothing can go on: `b` is waiting for the end of a (failed)"
    assert (bench.state("b"), bench.units["b"].calls) == ("stopped", [])


@pytest.mark.parametrize("hour", [3600.0, -3600.0], ids=["back", "forward"])
@pytest.mark.parametrize("waits_for", ["a producer", "a channel"])
def test_a_clock_set_by_an_hour_during_a_wait(hour: float, waits_for: str) -> None:
    """The wait has its length, and the status shows how much of it has passed."""
    if waits_for == "a producer":
        bench, waiting = _bench(_LIMITED), "b"
    else:
        bench, waiting = Bench("a", outlets={"a": {"t": 30.0}}), "a"
    bench.passes(10)
    bench.set_back = hour
    assert bench.passes(10) == 10.0
    assert bench.state(waiting) == "starting"
    bench.passes(10)
    assert bench.state(waiting) == "backing-off"


_BLUEPRINT = """
blueprint {
  streamlets { step = app.Step, printer = app.Printer }
  topics {
    lines { SETTINGS consumers = [step.in] }
    words { producers = [step.out], consumers = [printer.in] }
  }
}
flow.streamlets.step.inlets.in { open-timeout = 30s }
"""


@pytest.mark.parametrize(
    ("settings", "code", "answers"),
    [
        ("", 1, ["error[topic-without-producers]", "has consumers but no"]),
        ("managed = no,", 0, ["[inlet-waits-for-nothing]", "open or end is not known"]),
    ],
    ids=["a topic without producers", "a writer of another application"],
)
def test_nobody_to_wait_for(
    flow: Flow,  # noqa: F811 - the fixture
    tmp_path: Path,
    settings: str,
    code: int,
    answers: list[str],
) -> None:
    """Verification says so, before anything waits."""
    project = tmp_path / "project"
    shutil.copytree(Path(__file__).parents[2] / "examples" / "errors" / "connections", project)
    (project / "blueprint.conf").write_text(_BLUEPRINT.replace("SETTINGS", settings), encoding="utf-8")
    result = flow("verify", str(project), "--format", "concise")
    assert result.code == code, result.out
    assert [answer for answer in answers if answer not in flow("verify", str(project)).out] == [], result.out


def test_two_applications_with_one_topic(tmp_path: Path) -> None:
    """In one directory for the state of all, each has a topic of its own with that name."""
    counts = {}
    for name, records in (("shop", 3), ("bank", 5)):
        plan = _application(name, tmp_path)
        (topic,) = make_topics(plan, StateDirectory(tmp_path, name)).values()
        add(topic, 0, range(records))
        end = topic.end()
        assert end is not None
        counts[name] = topic.count(None, end)
    assert counts == {"shop": 3, "bank": 5}


def _application(name: str, directory: Path) -> ApplicationPlan:
    topics = (topic_plan("readings"),)
    return ApplicationPlan(name=name, blueprint="", directory=str(directory), streamlets=(), topics=topics)


@pytest.mark.parametrize("hook", ["on_start", "on_stop"])
def test_a_hook_that_never_returns(hook: str) -> None:
    """The start or the end has failed after the limit, with the name of the hook; the streamlet is not kept by it."""
    hooks, hold = Hooks(on_start=0.02, on_stop=0.02), threading.Event()
    try:
        if hook == "on_start":
            hooks.start_with = lambda: bool(hold.wait(300)) or None  # type: ignore[assignment]
            with pytest.raises(HookError) as caught:
                hooks.opened(WHOLE)
            failure: Failure | None = caught.value.failure
        else:
            hooks.stop_with = lambda: bool(hold.wait(300)) or None  # type: ignore[assignment]
            hooks.opened(WHOLE)
            failure = hooks.leave(WHOLE, StopCause("completed"))
        assert failure is not None
        assert (failure.hook, failure.cause) == (hook, f"`{hook}` failed: it has not returned within 0.02 s")
    finally:
        hold.set()


@pytest.mark.parametrize(
    ("ref", "replicas", "upgrading", "answer"),
    [
        ("b", 0, False, "the number of replicas must be a whole number from 1 to 1,000, found 0"),
        ("b", 10_000, False, "the number of replicas must be a whole number from 1 to 1,000, found 10000"),
        ("x", 2, False, "there is no streamlet `x`"),
        ("b", 2, True, "the run is being upgraded: repeat the command when the new version is up"),
    ],
    ids=["to 0", "to 10,000", "of an unknown streamlet", "during an upgrade"],
)
def test_flow_scale(tmp_path: Path, ref: str, replicas: int, upgrading: bool, answer: str) -> None:
    """It is refused, and nothing is restarted."""
    inbox: SimpleQueue[Request] = SimpleQueue()
    bench = Bench("ab")
    for streamlet in "ab":
        bench.started(streamlet)
    orders = Orders(StateDirectory(tmp_path, "app"), inbox.put, lambda arguments: "")
    try:
        if upgrading:
            orders.upgrade = Request(id="1", command="upgrade", by="ann")
            bench.supervisor.handle(Drain("upgrade"))
        calls = {name: list(unit.calls) for name, unit in bench.units.items()}
        request = Request(id="2", command="scale", by="ann", streamlet=ref, replicas=replicas)
        assert orders._command(request, bench.supervisor) == answer
        assert {name: unit.calls for name, unit in bench.units.items()} == calls
    finally:
        orders.close()
