"""The isolation of streamlets: all on one Spark in the runner, or each group in a driver process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Protocol

from blueprint.plan import ApplicationPlan, Isolation
from streamlets.runner.drivers.driver import Driver, session_plan
from streamlets.runner.drivers.groups import driver_plans
from streamlets.runner.drivers.messages import Assignment
from streamlets.runner.drivers.process import PROGRAM, Process
from streamlets.runner.drivers.remote import DriverProcess
from streamlets.runner.events.model import UnitHeld, UnitId
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Unit
from streamlets.runner.units.units import Log
from streamlets.spark.java import require_java


class Drivers(Protocol):
    """The drivers that run the units of a run."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """A unit for each streamlet, producers first."""

    def held(self, rows: Mapping[UnitId, int | None]) -> Iterable[UnitHeld]:
        """Return the rows that remain in the state of units; see `Driver.held`."""

    def stop(self) -> None:
        """Stop all drivers, and wait for their end."""


class DriverProcesses:
    """The driver processes of a run."""

    def __init__(self, processes: tuple[DriverProcess, ...], order: Iterable[str]) -> None:
        self._processes = processes
        units = {unit.id.streamlet: unit for process in processes for unit in process.units}
        self._units = tuple(units[ref] for ref in order)

    @property
    def units(self) -> tuple[Unit, ...]:
        """A unit for each streamlet, producers first."""
        return self._units

    def begin(self, resting: Container[str]) -> None:
        """Start the processes with a streamlet that is not resting; the others start with their first streamlet."""
        for process in self._processes:
            if any(ref not in resting for ref in process.refs):
                process.begin()

    def held(self, rows: Mapping[UnitId, int | None]) -> Iterable[UnitHeld]:
        """Return the rows that remain in the state of units, from all running processes concurrently."""
        parts = [
            {id: count for id, count in rows.items() if id.streamlet in process.refs} for process in self._processes
        ]
        with ThreadPoolExecutor(max(1, len(self._processes))) as pool:
            answers = pool.map(DriverProcess.held, self._processes, parts)
            yield from chain.from_iterable(answers)

    def stop(self) -> None:
        """Stop all processes, and wait for their end."""
        for process in self._processes:
            process.end()
        for process in self._processes:
            process.wait()


def drivers_of(
    plan: ApplicationPlan,
    state: StateDirectory,
    isolation: Isolation,
    *,
    master: str | None,
    bounded: bool,
    resting: Container[str],
    report: Callable[[Fact], None],
    log: Log,
    print_line: Callable[[str], None],
) -> Drivers:
    """Return the drivers of a plan. A single Spark in the runner has started; driver processes are starting.

    Arguments:
        master: Spark's master; None for this machine.
        bounded: whether all queries process all available data and end.
        resting: the streamlets that are not started yet.
        report: takes the units' facts, from any thread.
        log: takes the full text of failures, from any thread.
        print_line: takes each line that Spark prints, from any thread.

    Raises:
        SessionError: Spark cannot be started, or streamlets of a driver have different process-wide settings.
    """
    if isolation == "none":
        session = session_plan(plan, state, master)
        return Driver(plan, state, session, bounded=bounded, report=report, log=log, print_line=print_line)
    require_java()
    drivers_planned = driver_plans(plan)
    turn = threading.Semaphore(os.cpu_count() or 1)
    processes = []
    for driver in drivers_planned:
        session = session_plan(driver.plan, state, master)
        session = replace(
            session, logs=session.logs / driver.name, scratch=session.scratch / driver.name,
            sparks=len(drivers_planned), application=f"{plan.name}.{driver.name}",
        )  # fmt: skip
        assignment = Assignment(driver.plan, state, session, bounded)
        begin = partial(Process, PROGRAM, driver.name, turn=turn)
        processes.append(DriverProcess(assignment, begin, report=report, log=log, print_line=print_line))
    drivers = DriverProcesses(tuple(processes), (streamlet.ref for streamlet in plan.streamlets))
    drivers.begin(resting)
    return drivers
