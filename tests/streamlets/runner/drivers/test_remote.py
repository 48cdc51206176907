"""Units in driver processes without Spark under a supervisor, through failures of the processes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import psutil
import pytest

from benchmarks.processes import command_line, left_behind
from blueprint.core_settings import Retry, StreamletSettings
from blueprint.plan import ApplicationPlan, StreamletPlan
from blueprint.quantities import Duration
from streamlets.runner.drivers.messages import Assignment
from streamlets.runner.drivers.process import Process
from streamlets.runner.drivers.remote import DriverProcess
from streamlets.runner.events.event import Event
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import BatchStuck, UnitChanged, UnitProgressed
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision import interruption
from streamlets.runner.supervision.facts import Drain, Fact, Overlong, StopNow
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.settings import SessionPlan
from tests.streamlets.runner.supervision.bench import real_time, supervise

FAKE = Path(__file__).with_name("fake.py")
PATIENCE = 300.0


class Run:
    """Drivers of streamlets under a supervisor."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.inbox: SimpleQueue[Fact] = SimpleQueue()
        self.events: list[Event] = []
        self.logged: list[tuple[str, str]] = []
        self.printed: list[str] = []
        self.drivers: list[DriverProcess] = []
        self.turn = threading.Semaphore(2)
        self.python = sys.executable
        self._supervisor: Supervisor | None = None

    def driver(self, *refs: str, how: str = "up", retry: Retry | None = None) -> DriverProcess:
        """Add a driver of some streamlets; `how` is the argument of its program."""
        retry = retry or Retry(min_backoff=Duration(10**7))
        descriptor: Any = None
        streamlets = (
            StreamletPlan(
                ref=ref,
                class_name="m.C",
                descriptor=descriptor,
                settings=StreamletSettings(retry=retry),
            )
            for ref in refs
        )
        plan = ApplicationPlan(
            name="app", blueprint="blueprint.conf", directory=".", streamlets=tuple(streamlets), topics=()
        )
        name = refs[0]
        (self.directory / "tmp" / name).mkdir(parents=True)
        session = SessionPlan("app", self.directory / "logs" / name, self.directory / "tmp" / name)
        self.drivers.append(
            DriverProcess(
                Assignment(name, plan, StateDirectory(self.directory, "app"), session, bounded=False),
                partial(Process, [self.python, "-u", str(FAKE), how], name, turn=self.turn),
                report=self.inbox.put, log=lambda unit, text: self.logged.append((str(unit), text)),
                print_line=self.printed.append,
            )
        )  # fmt: skip
        return self.drivers[-1]

    @property
    def supervisor(self) -> Supervisor:
        """The supervisor of all drivers added so far."""
        if self._supervisor is None:
            units = [unit for driver in self.drivers for unit in driver.units]
            self._supervisor = real_time(units, self.events.append)
        return self._supervisor

    def until(self, reached: Callable[[], bool]) -> None:
        """Supervise until a condition is reached."""
        supervise(self.supervisor, self.inbox, reached, seconds=PATIENCE, details=(self.events, self.logged))

    def states(self, unit: str) -> list[str]:
        """Return the states of a unit, in order."""
        return [change.state for change in self._changes(unit)]

    def causes(self, unit: str, state: str) -> list[str]:
        """Return the cause of each change of a unit to a state."""
        return [change.cause for change in self._changes(unit) if change.state == state]

    def _changes(self, unit: str) -> list[UnitChanged]:
        return [event for event in self.events if isinstance(event, UnitChanged) and str(event.unit) == unit]

    def up(self, *units: str) -> None:
        """Supervise until some units are running."""
        self.until(lambda: all(self.states(unit)[-1:] == ["running"] for unit in units))

    def process(self, name: str, after: int = 0) -> int:
        """Return the id of a driver's process, the one after another where `after` has its id. What a process prints
        takes another way than its messages, and may arrive later."""
        self.until(lambda: self._processes(name)[-1:] not in ([], [after]))
        return self._processes(name)[-1]

    def _processes(self, name: str) -> list[int]:
        lines = [line for line in self.printed if line.startswith(f"{name} is driver ")]
        return [int(line.rpartition(" ")[2]) for line in lines]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run, all of whose processes must have exited in the end."""
    run = Run(tmp_path)
    yield run
    for driver in run.drivers:
        driver.end()
    for driver in run.drivers:
        driver.wait(PATIENCE)
    children = psutil.Process().children()
    assert [child for child in children if str(FAKE) in command_line(child)] == []


def test_units_in_other_processes_are_supervised_like_local_units(run: Run) -> None:
    """They start, become their queries with their own options, report batches, printed lines and failures, are
    restarted by their settings, report where a batch is and the rows in state, and drain."""
    run.driver("a", "split", "failing")
    run.up("a", "split.x", "split.y", "failing")
    assert run.states("failing") == ["starting", "backing-off", "starting", "running"]
    assert run.causes("failing", "backing-off") == ["it broke"]
    assert ("failing", "all of it") in run.logged
    run.until(lambda: any(isinstance(e, UnitProgressed) and e.unit == UnitId("a", "") for e in run.events))
    run.until(lambda: "a prints" in run.printed)
    assert run.drivers[0].rows_in_state({UnitId("a", ""): None}) == (RowsInState(0.0, UnitId("a", ""), "join", 7),)
    run.supervisor.handle(Overlong(UnitId("split", "x"), 7, 5.0))
    stuck = BatchStuck(
        time=0.0, unit=UnitId("split", "x"), batch=7, since=5.0, seconds=0.0, frames=("app.py:1 in each",)
    )
    run.until(lambda: stuck in run.events)
    run.supervisor.handle(Drain())
    run.until(lambda: run.supervisor.done)
    assert {run.states(unit)[-1] for unit in ("a", "split.x", "split.y", "failing")} == {"stopped"}


def test_the_kill_of_a_driver_affects_only_its_own_units(run: Run) -> None:
    """All its units and queries have failed, and the first one that is due starts the process again; other drivers keep
    their process. Before that its Java process has exited, and its temporary files are deleted."""
    run.driver("a", "split")
    run.driver("other")
    run.up("a", "split.x", "split.y", "other")
    before, other = run.process("a"), run.process("other")
    (run.directory / "tmp" / "a" / "rest").touch()
    (java,) = psutil.Process(before).children()
    psutil.Process(before).kill()
    run.until(lambda: run.states("a")[-3:] == ["backing-off", "starting", "running"])
    run.up("split.x", "split.y")
    cause = "its driver process exited (killed by signal 9)"
    assert run.causes("a", "backing-off") == run.causes("split.y", "backing-off") == [cause]
    assert run.states("other") == ["starting", "running"]
    assert run.process("a", after=before)
    assert run.process("other") == other
    assert left_behind([java]) == []
    assert not (run.directory / "tmp" / "a" / "rest").exists()


def test_a_driver_that_dies_while_a_unit_starts(run: Run) -> None:
    """The unit that was being started has failed with it, and starts again."""
    run.driver("killed", "a")
    run.up("killed", "a")
    assert run.states("killed") == ["starting", "backing-off", "starting", "running"]


def test_a_driver_that_dies_while_it_is_drained_is_not_started_again(run: Run) -> None:
    """Its units are stopped, with the failure of their last batch as the cause."""
    run.driver("dies-draining", "a")
    run.up("dies-draining", "a")
    run.supervisor.handle(Drain())
    run.until(lambda: run.supervisor.done)
    assert run.causes("dies-draining", "stopped") == [
        "its last batch failed: its driver process exited (killed by signal 9)"
    ]


def test_a_drain_without_an_answer_becomes_a_stop(run: Run) -> None:
    """After the limit of the drain, running batches are aborted. The wait for a report of rows in state is limited,
    too."""
    driver = run.driver("stubborn")
    run.up("stubborn")
    assert driver.rows_in_state({UnitId("stubborn", ""): None}, patience=0.1) == ()
    run.supervisor.handle(Drain(within=0.3))
    run.until(lambda: run.supervisor.done)
    assert run.states("stubborn")[-1] == "stopped"
    run.until(lambda: "never!" in run.printed)


def test_noise_on_the_wire_ends_the_driver(run: Run) -> None:
    """A driver with invalid messages is killed and started again."""
    run.driver("garbage", "a")
    run.up("garbage", "a")
    (cause,) = run.causes("garbage", "backing-off")
    assert cause.startswith("its driver process exited (invalid message")


def test_the_exit_of_a_driver_is_noticed_although_its_fork_is_running(run: Run) -> None:
    """A process that the author's code has forked keeps the wire open."""
    run.driver("forks")
    run.up("forks")
    driver = psutil.Process(run.process("forks"))
    (fork,) = [child for child in driver.children() if str(FAKE) in command_line(child)]
    driver.kill()
    run.until(lambda: run.states("forks")[-1] == "backing-off")
    assert fork.is_running()
    fork.kill()
    run.up("forks")


def test_a_driver_that_has_lost_java_is_replaced(run: Run) -> None:
    """It reports the loss, which is the failure of its units, and exits. They start in a new process; other drivers
    keep theirs."""
    run.driver("lost")
    run.driver("a")
    before = run.process("lost")
    run.until(lambda: run.causes("lost", "backing-off") != [])
    run.up("lost", "a")
    assert run.causes("lost", "backing-off")[0] == "Java exited"
    assert run.process("lost", after=before)
    assert run.states("a") == ["starting", "running"]


def test_a_driver_that_does_not_start_is_a_failure_with_the_reason(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    """It is started again by the settings; the last line of its standard error is the cause, the rest is logged."""
    run.driver("a", how="breaks", retry=Retry(max_attempts=1, min_backoff=Duration(10**7)))
    run.until(lambda: run.supervisor.done)
    assert run.states("a") == ["starting", "backing-off", "starting", "failed"]
    (cause,) = run.causes("a", "backing-off")
    start = "its driver process exited before Spark had started (exit code 1: ModuleNotFoundError: No module named "
    assert cause == f"{start}'pandas'); see run.log and {run.directory / 'logs' / 'a'}"
    assert "Traceback" in run.logged[0][1]
    assert "ModuleNotFoundError" in capfd.readouterr().err


def test_settings_that_spark_refuses_fail_for_good(run: Run) -> None:
    """If Spark has never started, no restart helps."""
    run.driver("a", "b", how="refused")
    run.until(lambda: run.supervisor.done)
    assert run.states("a") == run.states("b") == ["starting", "failed"]
    assert run.causes("b", "failed") == ["Spark refuses spark.x (it is wrong)"]


def test_a_driver_that_hangs_while_it_starts_does_not_delay_the_end(run: Run) -> None:
    """An immediate stop ends its units and its process; it has no rows in state."""
    driver = run.driver("a", how="hangs")
    run.until(lambda: any("is driver" in line for line in run.printed))
    run.supervisor.handle(StopNow())
    run.until(lambda: run.supervisor.done)
    assert run.causes("a", "stopped") == [""]
    assert driver.rows_in_state({UnitId("a", ""): 1}) == ()


def test_the_number_of_concurrent_starts_is_limited(run: Run) -> None:
    """The next one starts when one before it has started or exited."""
    run.turn = threading.Semaphore(1)
    run.driver("hanging", how="hangs")
    run.driver("a")
    run.driver("b")
    run.until(lambda: any("hanging is driver" in line for line in run.printed))
    assert run.states("a") == run.states("b") == ["starting"]
    psutil.Process(run.process("hanging")).kill()
    run.up("a", "b")


def test_a_program_that_does_not_exist(run: Run) -> None:
    """It is a failure of the unit like any other."""
    run.python = "/no/such/python"
    run.driver("a", retry=Retry(enabled=False))
    run.until(lambda: run.supervisor.done)
    (cause,) = run.causes("a", "failed")
    assert cause.startswith("its driver process cannot be started: ")


def test_a_process_whose_interpreter_is_blocked_is_replaced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause of the stuck unit has its frames. The others in the process start again with it, and not as failures of
    theirs. The Java process has exited before."""
    monkeypatch.setattr(interruption, "LOCATED_WITHIN", 0.1)
    monkeypatch.setattr(interruption, "STOPPED_WITHIN", 0.1)
    run.driver("deaf", "a")
    run.driver("b")
    run.up("deaf", "a", "b")
    before = run.process("deaf")
    (java,) = psutil.Process(before).children()
    run.supervisor.handle(Overlong(UnitId("deaf"), 7, time.time() - 61, restart=True))
    run.until(lambda: "backing-off" in run.states("deaf") and "backing-off" in run.states("a"))
    assert left_behind([psutil.Process(java.pid)] if java.is_running() else []) == []
    run.up("deaf", "a")
    assert run.process("deaf", after=before) != before
    (stuck,) = (event for event in run.events if isinstance(event, UnitChanged) and event.state == "backing-off"
                and event.unit == UnitId("deaf"))  # fmt: skip
    assert stuck.cause == "stuck: batch 7 has been running for 1 min 1 s"
    assert [frame.rpartition(" in ")[2] for frame in stuck.frames][-2:] == ["carry_out", "block_the_interpreter"]
    assert run.causes("a", "backing-off") == [
        "its driver process was replaced, because `deaf` was stuck and could not be stopped"
    ]
    assert [change.restarts for change in run._changes("a")][-1] == 0
    assert run.states("b") == ["starting", "running"]
