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

from blueprint.core_settings import Retry
from blueprint.plan import ApplicationPlan
from streamlets.runner.drivers.messages import (
    Assignment,
    CheckUnit,
    DrainUnit,
    Logged,
    Printed,
    QueryPart,
    ReportState,
    SparkFailed,
    SparkReady,
    StartUnit,
    StateReport,
    StopUnit,
    UnitBecame,
)
from streamlets.runner.drivers.process import PROGRAM
from streamlets.runner.drivers.program import Program
from streamlets.runner.drivers.wire import Wire
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import HostContext
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Became, Started
from streamlets.spark.settings import SessionPlan
from tests.streamlets.runner.supervision.bench import Fake, unit_id


class FakeDriver:
    """A driver of the streamlets `a` and `b` without Spark."""

    def __init__(self, context: HostContext, session: SessionPlan, *, started: Callable[[int], None]) -> None:
        self.units = (Fake(unit_id("a")), Fake(unit_id("b")))
        self.made: dict[UnitId, Fake] = {}
        self.report, self.log, self.print_line = context.report, context.log, context.print_line
        started(4711)

    def query(self, unit: UnitId) -> Fake:
        """Return the unit of a query that an earlier process had built."""
        self.made[unit] = Fake(unit)
        return self.made[unit]

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterator[RowsInState]:
        """Yield a row for each unit."""
        yield from (RowsInState(0.0, unit, "join", 1) for unit in rows)

    def stop(self) -> None:
        """Do nothing."""


def _assignment(folder: Path) -> Assignment:
    plan = ApplicationPlan(name="app", blueprint="blueprint.conf", directory=str(folder), streamlets=(), topics=())
    return Assignment("a", plan, StateDirectory(folder, "app"), SessionPlan("app", folder, folder), bounded=False)


@pytest.fixture
def messages() -> list[object]:
    """The messages that the runner receives."""
    return []


@pytest.fixture
def program(messages: list[object], tmp_path: Path) -> Any:
    """A program with the fake driver, whose messages are pickled."""
    driver: Any = FakeDriver
    return Program(_assignment(tmp_path), lambda message: messages.append(pickle.loads(pickle.dumps(message))), driver)


def test_orders_reach_their_unit(program: Any, messages: list[object]) -> None:
    """Also a query that this process has not built, and the queries that a streamlet became."""
    a, b = (unit.id for unit in program._driver.units)
    earlier = UnitId("a", "out")
    for order in (StartUnit(a, 1), DrainUnit(a), StopUnit(b), CheckUnit(b), StartUnit(earlier, 7), CheckUnit(earlier)):
        program.carry_out(order)
    assert [unit.calls for unit in program._driver.units] == [["start", "drain"], ["stop", "check"]]
    assert (program._driver.made[earlier].calls, program._driver.made[earlier].run) == (["start", "check"], 7)
    part = Fake(UnitId("b", "x"), Retry(max_attempts=3), bounded=True, unscalable="its trigger is real-time")
    program._driver.report(Became(b, 1, (part,)))
    program.carry_out(StartUnit(part.id, 2))
    assert part.calls == ["start"]
    part.up = False
    program.carry_out(StartUnit(part.id, 3, last=True, replicas=4))
    assert (part.calls, part.replicas) == (["start", "start last"], 4)
    became = QueryPart(part.id, Retry(max_attempts=3), True, "its trigger is real-time")
    assert messages == [SparkReady(4711), UnitBecame(b, 1, (became,))]


def test_reports_of_units_reach_the_runner(program: Any, messages: list[object]) -> None:
    """Facts, full texts of failures, printed lines, and on request the rows in state."""
    a = UnitId("a", "")
    program._driver.report(Started(a, 3))
    program._driver.log(a, "all of it")
    program._driver.print_line("a line")
    program.carry_out(ReportState({a: None}))
    assert messages[1:] == [
        Started(a, 3),
        Logged(a, "all of it"),
        Printed("a line"),
        StateReport((RowsInState(0.0, a, "join", 1),)),
    ]


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[bytes], Wire]]:
    """The real program in a process without Java."""
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


def test_a_driver_reports_why_spark_does_not_start(
    started: tuple[subprocess.Popen[bytes], Wire], tmp_path: Path
) -> None:
    """The failure has the cause with help, and is fatal."""
    process, wire = started
    wire.send(_assignment(tmp_path))
    message = wire.receive()
    assert isinstance(message, SparkFailed)
    assert message.failure.cause.startswith("Spark needs Java: there is no `java` on PATH, and JAVA_HOME is not set; ")
    assert message.failure.fatal
    assert "SessionError" in message.text
    assert process.wait() == 1


def test_a_driver_without_a_runner_exits(started: tuple[subprocess.Popen[bytes], Wire]) -> None:
    """Also before its assignment."""
    process, wire = started
    wire.close()
    assert process.wait() == 1
