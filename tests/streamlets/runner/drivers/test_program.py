"""The program of a driver process: orders reach units, and what those tell reaches the runner. Without Spark."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan import ApplicationPlan, Retry
from streamlets.runner.drivers.messages import (
    Assignment,
    CheckUnit,
    DrainUnit,
    Held,
    Logged,
    NotUp,
    Part,
    Parted,
    Printed,
    ReportHeld,
    StartUnit,
    StopUnit,
    Up,
)
from streamlets.runner.drivers.process import PROGRAM
from streamlets.runner.drivers.program import Program
from streamlets.runner.drivers.wire import Wire
from streamlets.runner.events.model import UnitHeld, UnitId
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Became, Fact, Started
from streamlets.spark.settings import SessionPlan
from tests.streamlets.runner.supervision.bench import Fake, unit_id


class FakeDriver:
    """Streamlets `a` and `b` on no Spark."""

    def __init__(
        self, plan: ApplicationPlan, state: StateDirectory, session: SessionPlan, *, report: Callable[[Fact], None],
        log: Callable[[UnitId, str], None], print_line: Callable[[str], None], started: Callable[[int], None],
        bounded: bool,
    ) -> None:  # fmt: skip
        self.units = (Fake(unit_id("a")), Fake(unit_id("b")))
        self.made: dict[UnitId, Fake] = {}
        self.report, self.log, self.print_line = report, log, print_line
        started(4711)

    def query(self, unit: UnitId) -> Fake:
        """A query that an earlier process had."""
        self.made[unit] = Fake(unit)
        return self.made[unit]

    def held(self, rows: Mapping[UnitId, int | None]) -> Iterator[UnitHeld]:
        """A row for each."""
        yield from (UnitHeld(0.0, unit, "join", 1) for unit in rows)

    def stop(self) -> None:
        """Nothing is there to stop."""


def _assignment(folder: Path) -> Assignment:
    plan = ApplicationPlan("app", "blueprint.conf", str(folder), (), (), {})
    return Assignment(plan, StateDirectory(folder, "app"), SessionPlan("app", folder, folder), bounded=False)


@pytest.fixture
def told() -> list[object]:
    """What the runner hears."""
    return []


@pytest.fixture
def program(told: list[object], tmp_path: Path) -> Any:
    """One over the fake driver; all that it tells must be able to cross."""
    made: Any = FakeDriver
    return Program(_assignment(tmp_path), lambda message: told.append(pickle.loads(pickle.dumps(message))), made)


def test_orders_reach_the_unit_they_name(program: Any, told: list[object]) -> None:
    """Also a query that this process never built; its parts, once a streamlet became them, are the ones it has."""
    a, b = (unit.id for unit in program._driver.units)
    earlier = UnitId("a", "out")
    for order in (StartUnit(a, 1), DrainUnit(a), StopUnit(b), CheckUnit(b), StartUnit(earlier, 7), CheckUnit(earlier)):
        program.carry_out(order)
    assert [unit.calls for unit in program._driver.units] == [["start", "drain"], ["stop", "check"]]
    assert (program._driver.made[earlier].calls, program._driver.made[earlier].run) == (["start", "check"], 7)
    part = Fake(UnitId("b", "x"), Retry(max_attempts=3), bounded=True)
    program._driver.report(Became(b, 1, (part,)))
    program.carry_out(StartUnit(part.id, 2))
    assert part.calls == ["start"]
    assert told == [Up(4711), Parted(b, 1, (Part(part.id, Retry(max_attempts=3), True),))]


def test_what_units_tell_reaches_the_runner(program: Any, told: list[object]) -> None:
    """Facts as they are, failures in full, prints, and what state holds when asked."""
    a = UnitId("a", "")
    program._driver.report(Started(a, 3))
    program._driver.log(a, "all of it")
    program._driver.print_line("a line")
    program.carry_out(ReportHeld({a: None}))
    assert told[1:] == [
        Started(a, 3),
        Logged(a, "all of it"),
        Printed("a line"),
        Held((UnitHeld(0.0, a, "join", 1),)),
    ]


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[bytes], Wire]]:
    """The real program in a process, on a machine without Java."""
    ours, its = socket.socketpair()
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | {"PATH": "/nowhere"}
    with its:
        process = subprocess.Popen(
            [sys.executable, *PROGRAM[1:], str(its.fileno()), "a"], pass_fds=[its.fileno()], env=environment
        )
    wire = Wire(ours)
    yield process, wire
    wire.close()
    process.kill()
    process.wait()


def test_a_driver_says_why_spark_does_not_start(started: tuple[subprocess.Popen[bytes], Wire], tmp_path: Path) -> None:
    """The cause with its remedy, and that no restart helps."""
    process, wire = started
    wire.send(_assignment(tmp_path))
    told = wire.receive()
    assert isinstance(told, NotUp)
    assert told.failure.cause.startswith("Spark needs Java, and there is none on PATH and no JAVA_HOME; install a Java")
    assert told.failure.fatal
    assert "SessionError" in told.text
    assert process.wait() == 1


def test_a_driver_without_a_runner_ends(started: tuple[subprocess.Popen[bytes], Wire]) -> None:
    """Whatever it is doing, and whether or not it has been told what for."""
    process, wire = started
    wire.close()
    assert process.wait() == 1
