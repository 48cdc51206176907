"""Units in driver processes under a supervisor, whatever becomes of the process. Here it is one without Spark."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import psutil
import pytest

from benchmarks.processes import command_line, left_behind
from blueprint.plan import ApplicationPlan, Retry, StreamletPlan
from blueprint.quantities import Duration
from streamlets.runner.drivers.messages import Assignment
from streamlets.runner.drivers.process import Process
from streamlets.runner.drivers.remote import DriverProcess
from streamlets.runner.events.model import BatchStuck, Event, UnitChanged, UnitHeld, UnitId, UnitProgressed
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Drain, Fact, Overlong, StopNow
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.settings import SessionPlan
from tests.streamlets.runner.supervision.bench import real_time, supervise

FAKE = Path(__file__).with_name("fake.py")
PATIENCE = 300.0


class Run:
    """Drivers of some streamlets each under one supervisor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inbox: SimpleQueue[Fact] = SimpleQueue()
        self.events: list[Event] = []
        self.logged: list[tuple[str, str]] = []
        self.printed: list[str] = []
        self.drivers: list[DriverProcess] = []
        self.turn = threading.Semaphore(2)
        self.python = sys.executable
        self._supervisor: Supervisor | None = None

    def driver(self, *refs: str, how: str = "up", retry: Retry | None = None) -> DriverProcess:
        """One more driver; `how` it starts."""
        retry = retry or Retry(min_backoff=Duration(10**7))
        descriptor: Any = None
        streamlets = (StreamletPlan(ref, "m.C", descriptor, {}, (), (), None, retry, {}, {}, {}) for ref in refs)
        plan = ApplicationPlan("app", "blueprint.conf", ".", tuple(streamlets), (), {})
        name = refs[0]
        (self.folder / "tmp" / name).mkdir(parents=True)
        session = SessionPlan("app", self.folder / "logs" / name, self.folder / "tmp" / name)
        self.drivers.append(
            DriverProcess(
                Assignment(plan, StateDirectory(self.folder, "app"), session, bounded=False),
                partial(Process, [self.python, "-u", str(FAKE), how], name, turn=self.turn),
                report=self.inbox.put, log=lambda unit, text: self.logged.append((str(unit), text)),
                print_line=self.printed.append,
            )
        )  # fmt: skip
        return self.drivers[-1]

    @property
    def supervisor(self) -> Supervisor:
        """Over all that there is by now."""
        if self._supervisor is None:
            units = [unit for driver in self.drivers for unit in driver.units]
            self._supervisor = real_time(units, self.events.append)
        return self._supervisor

    def until(self, reached: Callable[[], bool]) -> None:
        """Supervise until something is so."""
        supervise(self.supervisor, self.inbox, reached, seconds=PATIENCE, told=(self.events, self.logged))

    def states(self, unit: str) -> list[str]:
        """What a unit has been, one after another."""
        return [e.state for e in self.events if isinstance(e, UnitChanged) and str(e.unit) == unit]

    def causes(self, unit: str, state: str) -> list[str]:
        """Why it entered a state."""
        found = [e for e in self.events if isinstance(e, UnitChanged) and str(e.unit) == unit and e.state == state]
        return [e.cause for e in found]

    def up(self, *units: str) -> None:
        """Supervise until these run."""
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
    """A run whose processes are gone in the end."""
    made = Run(tmp_path)
    yield made
    for driver in made.drivers:
        driver.end()
    for driver in made.drivers:
        driver.wait(PATIENCE)
    children = psutil.Process().children()
    assert [child for child in children if str(FAKE) in command_line(child)] == []


def test_units_elsewhere_are_supervised_like_units_here(run: Run) -> None:
    """They start, become their queries with their own options, tell batches, prints and failures, are restarted by
    their settings, say where a batch is, drain, and say what their state holds."""
    run.driver("a", "split", "failing")
    run.up("a", "split.x", "split.y", "failing")
    assert run.states("failing") == ["starting", "backing-off", "starting", "running"]
    assert run.causes("failing", "backing-off") == ["it broke"]
    assert ("failing", "all of it") in run.logged
    run.until(lambda: any(isinstance(e, UnitProgressed) and e.unit == UnitId("a", "") for e in run.events))
    run.until(lambda: "a prints" in run.printed)
    assert run.drivers[0].held({UnitId("a", ""): None}) == (UnitHeld(0.0, UnitId("a", ""), "join", 7),)
    run.supervisor.handle(Overlong(UnitId("split", "x"), 7, 5.0))
    stuck = BatchStuck(0.0, UnitId("split", "x"), 7, 5.0, 0.0, ("app.py:1 in each",))
    run.until(lambda: stuck in run.events)
    run.supervisor.handle(Drain())
    run.until(lambda: run.supervisor.done)
    assert {run.states(unit)[-1] for unit in ("a", "split.x", "split.y", "failing")} == {"stopped"}


def test_a_driver_that_is_killed_takes_its_own_units_along_and_no_others(run: Run) -> None:
    """Each of its units has failed, its queries too, and the first that is due has it started anew; the others keep
    their process; its Java process is gone before, and what it left behind."""
    run.driver("a", "split")
    run.driver("other")
    run.up("a", "split.x", "split.y", "other")
    before, other = run.process("a"), run.process("other")
    (run.folder / "tmp" / "a" / "rest").touch()
    (java,) = psutil.Process(before).children()
    psutil.Process(before).kill()
    run.until(lambda: run.states("a")[-3:] == ["backing-off", "starting", "running"])
    run.up("split.x", "split.y")
    gone = "its driver process is gone (killed by signal 9)"
    assert run.causes("a", "backing-off") == run.causes("split.y", "backing-off") == [gone]
    assert run.states("other") == ["starting", "running"]
    assert run.process("a", after=before)
    assert run.process("other") == other
    assert left_behind([java]) == []
    assert not (run.folder / "tmp" / "a" / "rest").exists()


def test_a_driver_that_dies_while_a_unit_starts(run: Run) -> None:
    """Whatever was being started has failed with it, and starts again."""
    run.driver("killed", "a")
    run.up("killed", "a")
    assert run.states("killed") == ["starting", "backing-off", "starting", "running"]


def test_a_driver_that_dies_while_it_is_drained_is_not_started_again(run: Run) -> None:
    """Its units are stopped, and say what they did not finish."""
    run.driver("dies-draining", "a")
    run.up("dies-draining", "a")
    run.supervisor.handle(Drain())
    run.until(lambda: run.supervisor.done)
    assert run.causes("dies-draining", "stopped") == [
        "its last batch failed: its driver process is gone (killed by signal 9)"
    ]


def test_a_drain_without_an_answer_becomes_a_stop(run: Run) -> None:
    """After its time the drain gives running batches up, wherever they run; an answer that would only be told is not
    waited for without end."""
    driver = run.driver("stubborn")
    run.up("stubborn")
    assert driver.held({UnitId("stubborn", ""): None}, patience=0.1) == ()
    run.supervisor.handle(Drain(within=0.3))
    run.until(lambda: run.supervisor.done)
    assert run.states("stubborn")[-1] == "stopped"
    run.until(lambda: "never!" in run.printed)


def test_noise_on_the_wire_ends_the_driver(run: Run) -> None:
    """A driver that cannot be understood is killed and started anew."""
    run.driver("garbage", "a")
    run.up("garbage", "a")
    (cause,) = run.causes("garbage", "backing-off")
    assert cause.startswith("its driver process is gone (what it said made no sense")


def test_a_driver_whose_fork_lives_on_is_dead(run: Run) -> None:
    """A process that the author's code has forked holds the wire open; the driver's end is heard all the same."""
    run.driver("forks")
    run.up("forks")
    driver = psutil.Process(run.process("forks"))
    (fork,) = [child for child in driver.children() if str(FAKE) in command_line(child)]
    driver.kill()
    run.until(lambda: run.states("forks")[-1] == "backing-off")
    assert fork.is_running()
    fork.kill()
    run.up("forks")


def test_a_driver_whose_java_died_is_left_alone(run: Run) -> None:
    """It starts Java again by itself: only its units have failed."""
    run.driver("lost")
    run.driver("a")
    run.until(lambda: run.causes("lost", "backing-off") == ["Java is gone"])
    run.up("lost", "a")
    assert run.states("a") == ["starting", "running"]
    run.process("lost")
    assert len([line for line in run.printed if line.startswith("lost is driver")]) == 1


def test_a_driver_that_does_not_come_up_says_why(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    """It is tried again as the settings say; the last line it complained with is the cause, the rest is in the log."""
    run.driver("a", how="breaks", retry=Retry(max_attempts=1, min_backoff=Duration(10**7)))
    run.until(lambda: run.supervisor.done)
    assert run.states("a") == ["starting", "backing-off", "starting", "failed"]
    (cause,) = run.causes("a", "backing-off")
    said = "its driver process ended before Spark was there (exit code 1: ModuleNotFoundError: No module named "
    assert cause == f"{said}'pandas'); see run.log and {run.folder / 'logs' / 'a'}"
    assert "Traceback" in run.logged[0][1]
    assert "ModuleNotFoundError" in capfd.readouterr().err


def test_settings_that_spark_refuses_fail_for_good(run: Run) -> None:
    """When it has never been up, no restart helps."""
    run.driver("a", "b", how="refused")
    run.until(lambda: run.supervisor.done)
    assert run.states("a") == run.states("b") == ["starting", "failed"]
    assert run.causes("b", "failed") == ["Spark refuses spark.x (it is wrong)"]


def test_a_driver_that_hangs_as_it_starts_holds_nobody_up(run: Run) -> None:
    """A stop at once ends its units and its process; nothing is held by it."""
    driver = run.driver("a", how="hangs")
    run.until(lambda: any("is driver" in line for line in run.printed))
    run.supervisor.handle(StopNow())
    run.until(lambda: run.supervisor.done)
    assert run.causes("a", "stopped") == [""]
    assert driver.held({UnitId("a", ""): 1}) == ()


def test_few_start_at_a_time(run: Run) -> None:
    """Whoever waits for its turn gets it when one before it is up, or died."""
    run.turn = threading.Semaphore(1)
    run.driver("hanging", how="hangs")
    run.driver("a")
    run.driver("b")
    run.until(lambda: any("hanging is driver" in line for line in run.printed))
    assert run.states("a") == run.states("b") == ["starting"]
    psutil.Process(run.process("hanging")).kill()
    run.up("a", "b")


def test_a_program_that_is_not_there(run: Run) -> None:
    """The unit has failed as after any failure."""
    run.python = "/no/such/python"
    run.driver("a", retry=Retry(enabled=False))
    run.until(lambda: run.supervisor.done)
    (cause,) = run.causes("a", "failed")
    assert cause.startswith("its driver process cannot be started: ")
