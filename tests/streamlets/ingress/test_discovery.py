"""The discovery of a batch source as a unit of a run: triggers, failures, interruptions, retries, without Spark."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.catalog import ExternalResources
from blueprint.core_settings import End, OnStuck, StreamletSettings
from blueprint.plan import ApplicationPlan, StreamletPlan
from blueprint.quantities import duration
from streamlets import BatchSource
from streamlets.channels.base import TopicResource
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.contract.types import arrow_schema
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.batch_sources.cursor import TaskOffset
from streamlets.ingress.batch_sources.discovery import DiscoveryUnit
from streamlets.ingress.batch_sources.kind import DiscoveryHost
from streamlets.ingress.batch_sources.progress import DiscoveryProgress, progress_file, read_progress
from streamlets.ingress.batch_sources.requests import request_retry
from streamlets.ingress.batch_sources.tasks import Task
from streamlets.ingress.triggerers import Trigger, TriggererContext
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import OpenTasks, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitMeasured, UnitProgressed, UnitRecovered, UnitWarned
from streamlets.runner.hosts import HostContext
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Drain, Ended, Fact, Hung, Progressed, Seen, Started
from tests.streamlets.ingress.conftest import LETTER_TOPIC, TASK_TOPIC
from tests.streamlets.ingress.test_task_writer import stored
from tests.streamlets.runner.supervision.bench import real_time

MODULE = "tests.streamlets.ingress.test_discovery"


def wait_until(reached: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


class ByHand:
    """A triggerer that tests call."""

    started: list[ByHand] = []  # noqa: RUF012 - a fixture replaces it

    def init(self, config: Any, context: TriggererContext) -> None:
        self.config = config

    def start(self, trigger: Trigger) -> None:
        self.trigger = trigger
        ByHand.started.append(self)

    def stop(self) -> None:
        self.stopped = True


class InThread(ByHand):
    """A triggerer whose thread ends with an exception when the test says so."""

    raises = threading.Event()

    def init(self, config: Any, context: TriggererContext) -> None:
        self.context = context

    def start(self, trigger: Trigger) -> None:
        super().start(trigger)
        self.context.run_in_thread(self._run, "in-thread")

    def _run(self) -> None:
        InThread.raises.wait(60)
        raise RuntimeError("the queue was deleted")


class Broken(ByHand):
    """A triggerer that raises when it starts."""

    def start(self, trigger: Trigger) -> None:
        raise RuntimeError("no clock")


class NeverReturns(ByHand):
    """A triggerer whose `start` does not return."""

    def start(self, trigger: Trigger) -> None:
        Found.entered.set()
        Found.resume.wait(60)


class Found(BatchSource):
    """Discovers the words of its event. `wait` holds a discovery up; `boom` makes it fail, once."""

    entered = threading.Event()
    resume = threading.Event()
    failures: list[str] = []  # noqa: RUF012 - a fixture replaces it
    events: list[str] = []  # noqa: RUF012 - a fixture replaces it
    closed = 0

    def discover(self, eat: Any, event: str) -> None:
        self.events.append(event)
        for word in event.split():
            eat(word, key=f"{event}/{word}")
            if word == "wait":
                Found.resume.wait(60)
                eat("after the wait")
            if word == "boom" and self.failures:
                raise OSError(self.failures.pop())
            if word == "set":
                eat({"a", "b"})

    def prepare(self, task: Any) -> None:
        raise AssertionError("nothing is read here")

    def read_next(self) -> Any:
        raise AssertionError("nothing is read here")

    def close(self) -> None:
        Found.closed += 1


class NeverOpens(Found):
    """A source whose `open` does not return."""

    def open(self, config: Any, context: SourceContext) -> None:
        Found.entered.set()
        Found.resume.wait(60)


@pytest.fixture(autouse=True)
def reset() -> Iterator[None]:
    """Reset what the classes share."""
    ByHand.started, Found.events, Found.failures, Found.closed = [], [], [], 0
    Found.entered.clear()
    Found.resume.clear()
    InThread.raises.clear()
    yield
    Found.resume.set()
    InThread.raises.set()


class Run:
    """A run of the source."""

    def __init__(
        self, directory: Path, topic: TopicResource, *, bounded: bool = False, name: str = "ByHand",
        letters: TopicResource | None = None, timeout: str = "1 hour", source: str = "Found", finite: bool = False,
        end: End = "on-request", on_stuck: OnStuck = "report", stuck_after: str = "10 minutes",
    ) -> None:  # fmt: skip
        state = StateDirectory(directory, "app")
        plan = StreamletPlan(
            ref="source",
            class_name=f"{MODULE}.{source}",
            descriptor=SimpleNamespace(external=ExternalResources(finite=finite)),  # type: ignore[arg-type]
            settings=StreamletSettings(end=end, on_stuck=on_stuck, stuck_after=duration(stuck_after)),
            parameters={"discovery": {"triggerer": f"{MODULE}.{name}"}, "discovery-timeout": duration(timeout)},
            tasks=TASK_TOPIC.id,
            directory=str(directory),
        )
        self.facts: list[Fact] = []
        self.lines: list[str] = []
        self.logged: list[tuple[UnitId, str]] = []
        self.topic = topic
        self.file = progress_file(state.directory, "source")
        self.checkpoint = state.checkpoints / "source" / "read"
        application = ApplicationPlan(
            name="app", blueprint="b.conf", directory=str(directory), streamlets=(plan,), topics=(TASK_TOPIC,)
        )
        context = HostContext(
            plan=application, state=state, bounded=bounded, report=self.facts.append,
            log=lambda unit, text: self.logged.append((unit, text)), print_line=self.lines.append,
        )  # fmt: skip
        self.unit = DiscoveryUnit(plan, topic, context, 1, letters=letters)
        self.host = DiscoveryHost(replace(context, plan=replace(application, streamlets=())))

    def start(self, number: int = 1) -> None:
        """Start the unit, and wait until its triggerer has started."""
        before = len(ByHand.started)
        self.unit.start(number)
        wait_until(lambda: len(ByHand.started) > before, 60, "the triggerer starts")

    def trigger(self, event: str) -> bool:
        """Trigger, and return whether it was accepted."""
        return ByHand.started[-1].trigger(event)

    def discovered(self, event: str) -> None:
        """Trigger a discovery, and wait until it is complete."""
        before = self.progress.discoveries
        wait_until(lambda: self.trigger(event), 60, "the trigger is accepted")
        wait_until(lambda: self.progress.discoveries > before, 60, "the discovery is complete")

    def check_until(self, reached: Callable[[], bool]) -> None:
        """Have the unit check itself, as the supervisor does, until a condition is true."""

        def checked() -> bool:
            self.unit.check()
            return reached()

        wait_until(checked, 60, "the check has an effect")

    def tasks(self) -> OpenTasks | None:
        """Return the open tasks as reported last."""
        measured = [f.event for f in self.facts if isinstance(f, Seen) and isinstance(f.event, UnitMeasured)]
        return next((event.tasks for event in reversed(measured) if event.tasks is not None), None)

    @property
    def warnings(self) -> list[str]:
        """The warnings of the unit."""
        events = [fact.event for fact in self.facts if isinstance(fact, Seen)]
        return [event.what for event in events if isinstance(event, UnitWarned)]

    @property
    def hung(self) -> list[Hung]:
        """The reports that the unit is stuck."""
        return [fact for fact in self.facts if isinstance(fact, Hung)]

    @property
    def progress(self) -> DiscoveryProgress:
        """The progress in the state directory."""
        return read_progress(self.file)

    def ended(self, number: int = 1) -> str | None:
        """Wait for the end of a run of the unit, and return why it failed."""
        wait_until(lambda: any(isinstance(f, Ended) and f.run == number for f in self.facts), 60, "the unit ends")
        end = next(fact for fact in self.facts if isinstance(fact, Ended) and fact.run == number)
        return end.failure.cause if end.failure is not None else None

    def values(self) -> list[Any]:
        """Return the stored tasks."""
        return [task.value for task in stored(self.topic)]

    def commit(self, task: int) -> None:
        """Have Spark's checkpoint show that the tasks up to a number are read."""
        for name in ("offsets", "commits"):
            (self.checkpoint / name).mkdir(parents=True, exist_ok=True)
        offset = json.dumps(TaskOffset(task).to_dict())
        (self.checkpoint / "offsets" / "0").write_text(f'v1\n{{"batchTimestampMs":1}}\n{offset}')
        (self.checkpoint / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')


@pytest.fixture
def run(tmp_path: Path, topic: TopicResource) -> Run:
    """A run of the source."""
    return Run(tmp_path, topic)


@pytest.mark.parametrize(("finite", "end"), [(True, "on-request"), (False, "when-producers-end")])
def test_a_source_goes_on_unless_it_can_and_is_to_end(
    tmp_path: Path, topic: TopicResource, finite: bool, end: End
) -> None:
    """A triggerer that calls once does not end the discovery by itself, and neither does the setting."""
    run = Run(tmp_path, topic, finite=finite, end=end)
    run.start()
    for event in "ab":
        run.discovered(event)
    assert (run.unit.bounded, run.values()) == (False, ["a", "b"])


def test_a_finite_source_completes_after_one_discovery(tmp_path: Path, topic: TopicResource) -> None:
    """The discovery ends when it has succeeded; one that fails runs again at the next start, before the next one."""
    run = Run(tmp_path, topic, finite=True, end="when-producers-end")
    Found.failures = ["the disk is full"]
    run.start()
    assert run.unit.bounded and run.trigger("a boom")
    assert run.ended() == "OSError: the disk is full"
    run.start(2)
    assert run.trigger("b")
    assert run.ended(2) is None
    assert run.values() == ["a", "boom", "b"] and ByHand.started[-1].stopped
    measured = [f.event for f in run.facts if isinstance(f, Seen) and isinstance(f.event, UnitMeasured)]
    assert measured[-1].backlog == {"tasks": None}  # nobody measures it any more


@pytest.mark.parametrize("finite", [True, False])
def test_no_task_waits_after_the_end(tmp_path: Path, topic: TopicResource, *, finite: bool) -> None:
    """The query reads on when the discovery has ended. Its last batch counts when the host is stopped."""
    run = Run(tmp_path, topic, finite=finite, end="when-producers-end")
    run.host.units = (run.unit,)
    run.start()
    assert run.trigger("a b c")
    if not finite:
        wait_until(lambda: run.tasks() not in (None, OpenTasks()), 60, "tasks wait")
        run.unit.drain()
    assert run.ended() is None
    if finite:
        assert run.tasks() == OpenTasks()  # nobody measures it meanwhile
    run.commit(1)
    run.host.stop()
    left = run.tasks()
    assert left is not None and left.oldest is not None  # the third one
    run.commit(2)
    run.host.stop()
    assert run.tasks() == OpenTasks()
    measured = [f.event for f in run.facts if isinstance(f, Seen) and isinstance(f.event, UnitMeasured)]
    assert measured[-1].backlog == {"tasks": 0}


def test_a_trigger_discovers(run: Run) -> None:
    """Each trigger is a discovery with its event; tasks and the backlog are reported."""
    run.start()
    run.discovered("a b")
    run.discovered("c")
    assert run.values() == ["a", "b", "c"] and Found.events == ["a b", "c"]
    run.unit.drain()
    assert run.ended() is None and ByHand.started[0].stopped and Found.closed == 1
    assert isinstance(run.facts[0], Started) or isinstance(run.facts[1], Started)
    progress = [f.progress for f in run.facts if isinstance(f, Progressed)]
    assert sum(p.rows_out["tasks"] for p in progress if isinstance(p, UnitProgressed)) == 3
    measured = [f.event for f in run.facts if isinstance(f, Seen) and isinstance(f.event, UnitMeasured)]
    assert measured[-1].backlog == {"tasks": 3}


def test_a_trigger_during_a_discovery_is_dropped_and_counted(run: Run) -> None:
    """There are never two discoveries at once; one line says that triggers are dropped."""
    run.start()
    wait_until(lambda: run.trigger("wait"), 60, "the trigger is accepted")
    wait_until(lambda: Found.events == ["wait"], 60, "the discovery runs")
    assert not run.trigger("second") and not run.trigger("third")
    Found.resume.set()
    wait_until(lambda: run.progress.discoveries == 1, 60, "the discovery is complete")
    assert Found.events == ["wait"] and run.progress.dropped == 2
    assert run.lines == ["source: dropped a trigger, because a discovery is running"]
    run.unit.drain()
    run.ended()


def test_a_full_disk_does_not_end_the_triggerer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trigger that is dropped and cannot be noted raises nothing in the thread of the triggerer."""
    run.start()
    wait_until(lambda: run.trigger("wait"), 60, "the trigger is accepted")
    wait_until(lambda: Found.events == ["wait"], 60, "the discovery runs")

    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("streamlets.ingress.batch_sources.discovery.write_progress", full)
        assert not run.trigger("second")
    Found.resume.set()
    run.unit.drain()
    run.ended()


def test_a_discovery_that_fails_half_way_runs_again(run: Run) -> None:
    """Its tasks are kept; at the next start of the unit it runs again with its event, and keys make that harmless."""
    Found.failures.append("no such host")
    run.start()
    wait_until(lambda: run.trigger("a boom c"), 60, "the trigger is accepted")
    assert run.ended() == "OSError: no such host"
    end = next(fact for fact in run.facts if isinstance(fact, Ended))
    assert end.failure is not None and end.failure.frames[-1].endswith("in discover")
    assert run.progress.failure == "OSError: no such host" and run.values() == ["a", "boom"]
    run.start(2)
    wait_until(lambda: run.progress.discoveries == 1, 60, "the discovery is complete")
    assert run.values() == ["a", "boom", "c"] and Found.events == ["a boom c", "a boom c"]
    assert run.progress.failure == "" and run.progress.repeated == 2
    run.unit.drain()
    run.ended(2)


def test_a_drain_interrupts_a_discovery_which_runs_again(run: Run) -> None:
    """A long discovery ends at its next task. The next start repeats it."""
    run.start()
    wait_until(lambda: run.trigger("a wait"), 60, "the trigger is accepted")
    wait_until(lambda: Found.events == ["a wait"], 60, "the discovery runs")
    run.unit.drain()
    Found.resume.set()
    assert run.ended() is None
    run.start(2)
    wait_until(lambda: run.progress.discoveries == 1, 60, "the discovery is complete")
    assert run.values() == ["a", "wait", "after the wait"]
    run.unit.drain()
    run.ended(2)


def test_a_discovery_that_does_not_end_is_abandoned(run: Run) -> None:
    """`stop` reports the end although `discover` hangs; what it still discovers is refused."""
    run.start()
    wait_until(lambda: run.trigger("wait"), 60, "the trigger is accepted")
    wait_until(lambda: Found.events == ["wait"], 60, "the discovery runs")
    run.unit.stop()
    assert run.ended() is None
    Found.resume.set()
    wait_until(lambda: Found.closed == 1, 60, "the thread ends")
    assert run.values() == ["wait"]


def test_a_bounded_run_discovers_once(tmp_path: Path, topic: TopicResource) -> None:
    """Without a trigger, and then the unit ends."""
    run = Run(tmp_path, topic, bounded=True)
    assert run.progress.discoveries == 0
    run.unit.start(1)
    assert run.ended() is None and Found.events == [""] and run.progress.discoveries == 1
    assert ByHand.started == []


def test_a_bounded_run_reads_failed_tasks_again_on_request(tmp_path: Path, topic: TopicResource) -> None:
    """A request that was made while nothing ran is carried out before the discovery."""
    run = Run(tmp_path, topic, bounded=True)
    request_retry(run.file.parent, Task(5, b'"x"', "json"))
    run.unit.start(1)
    assert run.ended() is None and [task.retry_of for task in stored(topic)] == [5]


class Waits(Found):
    """Its discovery in a bounded run, which has no event, never ends."""

    def discover(self, eat: Any, event: str) -> None:
        super().discover(eat, "a wait")


def test_a_discovery_that_never_ends_ends_a_bounded_run(tmp_path: Path, topic: TopicResource) -> None:
    """After `discovery-timeout` the unit fails for good. What was found is read, and the discovery is to run again."""
    run = Run(tmp_path, topic, bounded=True, timeout="10 ms", source="Waits")
    run.unit.start(1)
    wait_until(lambda: run.values() == ["a", "wait"], 60, "tasks are found")
    assert not run.progress.abandoned
    run.check_until(lambda: run.progress.abandoned)
    assert run.ended() == "the discovery did not end within `discovery-timeout` (10 milliseconds)"
    end = next(fact for fact in run.facts if isinstance(fact, Ended))
    assert end.failure is not None and "it runs again at the next start" in end.failure.fatal
    Found.resume.set()
    wait_until(lambda: Found.closed == 1, 60, "the thread ends")
    assert run.values() == ["a", "wait"] and run.progress.discoveries == 0
    writer = run.unit.writer()
    assert writer.interrupted == ""
    writer.close()


def test_a_discovery_that_takes_long_is_stuck(tmp_path: Path, topic: TopicResource) -> None:
    """It is reported once, with its line, and again when it goes on; its tasks are read."""
    run = Run(tmp_path, topic, timeout="10 ms")
    run.start()
    wait_until(lambda: run.trigger("a wait"), 60, "the trigger is accepted")
    run.check_until(lambda: run.hung != [])
    run.unit.check()
    (hung,) = run.hung
    assert (hung.run, hung.restart, hung.event.what) == (1, False, "no end of its discovery")
    assert hung.event.frames[0].endswith(" in discover")
    assert hung.event.line.startswith("source.discovery: stuck: no end of its discovery for ")
    Found.resume.set()
    wait_until(lambda: run.progress.discoveries == 1, 60, "the discovery is complete")
    run.unit.check()
    run.unit.check()
    assert sum(isinstance(fact, Seen) and isinstance(fact.event, UnitRecovered) for fact in run.facts) == 1
    run.unit.drain()
    assert run.ended() is None and len(run.hung) == 1


@pytest.mark.parametrize(
    ("source", "name", "what", "function"),
    [
        ("Found", "NeverReturns", "no end of the start of its triggerer", "start"),
        ("NeverOpens", "ByHand", "no end of the call of `open`", "open"),
    ],
)
def test_code_that_never_returns_is_stuck(
    tmp_path: Path, topic: TopicResource, source: str, name: str, what: str, function: str
) -> None:
    """A triggerer must return at once from `start`. A source that is being opened is still `starting`."""
    run = Run(tmp_path, topic, name=name, source=source, stuck_after="10 ms")
    run.unit.start(1)
    wait_until(lambda: Found.entered.is_set(), 60, "the code is called")
    run.check_until(lambda: run.hung != [])
    (hung,) = run.hung
    assert (hung.event.what, hung.event.frames[-1].rpartition(" in ")[2]) == (what, function)
    run.unit.stop()
    assert run.ended() is None
    Found.resume.set()


def test_a_discovery_that_never_ends_is_started_again(tmp_path: Path, topic: TopicResource) -> None:
    """With `on-stuck = restart`, after a back-off and with its line. Nothing that the old thread finds is taken, and
    the discovery runs again with its event."""
    run = Run(tmp_path, topic, timeout="1 s", on_stuck="restart")
    events: list[Event] = []
    before = set(threading.enumerate())
    supervisor = real_time([run.unit], events.append)
    supervisor.tick()
    wait_until(lambda: ByHand.started != [], 60, "the triggerer starts")
    wait_until(lambda: run.trigger("a wait"), 60, "the trigger is accepted")

    def changes(state: str) -> list[UnitChanged]:
        return [event for event in events if isinstance(event, UnitChanged) and event.state == state]

    def supervised() -> bool:
        while run.facts:
            supervisor.handle(run.facts.pop(0))
        supervisor.tick()
        supervisor.check()
        return changes("backing-off") != []

    wait_until(supervised, 60, "the discovery is stuck")
    stuck = changes("backing-off")[0]
    assert stuck.cause.startswith("stuck: no end of its discovery for ")
    assert stuck.frames[0].endswith(" in discover")
    (old,) = (t for t in set(threading.enumerate()) - before if t.name == "discovery-source")
    Found.resume.set()
    old.join(60)
    assert run.values() == ["a", "wait"], "what follows the wait is refused"
    wait_until(lambda: supervised() and run.progress.discoveries == 1, 60, "the discovery is complete")
    assert run.values() == ["a", "wait", "after the wait"]
    supervisor.handle(Drain())
    wait_until(lambda: supervised() and supervisor.done, 60, "the unit ends")


def test_a_discovery_that_fails_in_a_bounded_run_is_tried_again(tmp_path: Path, topic: TopicResource) -> None:
    """Its query waits for the last attempt; then it reads what was found, and the unit fails for good."""
    run = Run(tmp_path, topic, bounded=True, source="Booms")
    for number in range(1, 5):
        assert not run.progress.abandoned
        Found.failures.append("no such host")
        run.unit.start(number)
        assert run.ended(number) == "OSError: no such host"
    fatal = [fact.failure.fatal for fact in run.facts if isinstance(fact, Ended) and fact.failure is not None]
    assert fatal[:3] == ["", "", ""] and fatal[3].startswith("a bounded run does not try again")
    assert run.progress.abandoned


def test_a_discovery_that_has_failed_does_not_take_too_long(tmp_path: Path, topic: TopicResource) -> None:
    """Until its next attempt no time of it passes: a bounded run goes on waiting for that."""
    run = Run(tmp_path, topic, bounded=True, timeout="1 ms", source="Booms")
    Found.failures.append("no such host")
    run.unit.start(1)
    assert run.ended() == "OSError: no such host"
    run.unit.check()
    assert not run.progress.abandoned


class Booms(Found):
    """Its discovery fails as often as `failures` says."""

    def discover(self, eat: Any, event: str) -> None:
        super().discover(eat, "a boom")


def test_a_triggerer_that_raises_fails_the_unit(tmp_path: Path, topic: TopicResource) -> None:
    """The supervisor then starts it again later."""
    run = Run(tmp_path, topic, name="Broken")
    run.unit.start(1)
    assert run.ended() == "RuntimeError: no clock" and Found.closed == 1


def test_a_thread_of_a_triggerer_that_raises_fails_the_unit(tmp_path: Path, topic: TopicResource) -> None:
    """Without that, the source would wait for ever for a trigger. The next start has a new triggerer."""
    run = Run(tmp_path, topic, name="InThread")
    run.start()
    run.discovered("a")
    InThread.raises.set()
    assert run.ended() == "RuntimeError: the queue was deleted" and ByHand.started[0].stopped
    InThread.raises.clear()
    run.start(2)
    run.discovered("b")
    run.unit.drain()
    assert run.ended(2) is None and run.values() == ["a", "b"]


def test_a_task_that_cannot_be_stored_fails_the_discovery(run: Run) -> None:
    """The failure names the type."""
    run.start()
    wait_until(lambda: run.trigger("set"), 60, "the trigger is accepted")
    assert (run.ended() or "").startswith("TaskError: a task of the type `set` cannot be stored")


def test_the_backlog_and_its_age_follow_the_checkpoint(run: Run) -> None:
    """What is committed is no longer in the backlog; the age is that of the first task that is not read."""
    run.start()
    run.discovered("a b")
    assert (run.progress.backlog, run.progress.oldest is not None) == (2, True)
    run.commit(0)
    wait_until(lambda: run.progress.read == 1, 60, "the commit is seen")
    assert run.progress.oldest == pytest.approx(stored(run.topic)[1].time)
    run.commit(1)
    wait_until(lambda: run.progress.backlog == 0, 60, "the commit is seen")
    assert run.progress.oldest is None
    run.unit.drain()
    run.ended()


def fail_tasks(letters: TopicResource, *ports: str) -> None:
    """Write a dead letter for each port, as of a task that has failed."""
    error = f'Traceback (most recent call last):\n  File "{__file__}", line 7, in read_next\nOSError: it broke\n'
    schema = arrow_schema(dead_letter_contract())
    with letters.appender(dead_letter_contract(), writer="source.read") as appender:
        first = appender.last + 1 if appender.last is not None else 0
        for sequence, port in enumerate(ports, first):
            record = {"task": sequence, "payload": '"a.csv"', "attempts": 3, "error": error}
            letter = {"record": json.dumps(record), "port": port, "coordinates": f"task/{sequence}", "time": 0,
                      "reason": "OSError: it broke", "version": ""}  # fmt: skip
            appender.append([pa.RecordBatch.from_pylist([letter], schema=schema)], sequence)


def test_tasks_that_fail_are_reported_with_the_line_that_raised(tmp_path: Path, topic: TopicResource) -> None:
    """Each one of this run, up to five at once; the log has their errors."""
    letters = CHANNEL_TYPES["delta"].open(tmp_path / "topics").topic(LETTER_TOPIC)
    letters.create([dead_letter_contract()])
    fail_tasks(letters, "source.tasks")  # in an earlier run
    run = Run(tmp_path, topic, letters=letters)
    assert list(run.unit.warnings()) == []
    fail_tasks(letters, "source.out", "source.tasks")
    (warning,) = run.unit.warnings()
    assert str(warning.unit) == "source.read"
    assert re.fullmatch(
        r'the task 2 \("a.csv"\) failed in 3 attempts, at \S*test_discovery.py:7 in read_next: OSError: it broke; '
        r"`flow tasks show source --task 2` shows the error in full",
        warning.what,
    )
    assert [(str(unit), "line 7, in read_next" in text) for unit, text in run.logged] == [("source.read", True)]
    fail_tasks(letters, *["source.tasks"] * 7)
    warnings = list(run.unit.warnings())
    assert len(warnings) == 6 and warnings[5].what == "2 more tasks have failed; `flow tasks show source` shows them"
    assert list(run.unit.warnings()) == []


def test_failed_tasks_are_counted_until_they_are_retried(tmp_path: Path, topic: TopicResource) -> None:
    """Dead letters of tasks count, those of records do not; each look reads only new dead letters."""
    letters = CHANNEL_TYPES["delta"].open(tmp_path / "topics").topic(LETTER_TOPIC)
    letters.create([dead_letter_contract()])
    run = Run(tmp_path, topic, letters=letters)
    run.start()
    fail_tasks(letters, "source.tasks", "source.out", "source.tasks")
    run.commit(7)
    wait_until(lambda: run.progress.failed == 2, 60, "the failures are counted")
    request_retry(run.file.parent, Task(5, b'"x"', "json"))
    wait_until(lambda: run.progress.failed == 1, 60, "the retry is counted")
    run.unit.drain()
    run.ended()
    measured = [f.event for f in run.facts if isinstance(f, Seen) and isinstance(f.event, UnitMeasured)]
    assert measured[-1].tasks == OpenTasks(oldest=run.progress.oldest, failed=1)


def test_a_failed_task_is_read_again_on_request(run: Run) -> None:
    """The request is a file; it is carried out once, also if it is made while nothing runs, or twice."""
    task = Task(5, b'{"path":"x"}', "json", "x@1")
    assert request_retry(run.file.parent, task) and not request_retry(run.file.parent, task)
    run.start()
    wait_until(lambda: len(run.values()) == 1, 60, "the task is discovered again")
    wait_until(lambda: not list(run.unit.requests()), 60, "the request is removed")
    request_retry(run.file.parent, task)
    wait_until(lambda: not list(run.unit.requests()), 60, "the request is removed")
    assert [(task.value, task.key, task.retry_of) for task in stored(run.topic)] == [({"path": "x"}, "x@1", 5)]
    run.unit.drain()
    run.ended()


def test_the_reason_of_a_failure_has_no_secret(tmp_path: Path, topic: TopicResource) -> None:
    """Neither the file that `flow tasks` shows, nor the failure: the error may quote an address or a header."""
    run = Run(tmp_path, topic, bounded=True, source="Booms")
    run.unit._context.secrets.add(["tulip-7788"])
    Found.failures.append("401 for https://h/?token=rose-1122 with tulip-7788")
    run.unit.start(1)
    assert run.ended() == run.progress.failure == "OSError: 401 for https://h/?token=(secret) with (secret)"
