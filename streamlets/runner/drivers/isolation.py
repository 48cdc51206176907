"""How the streamlets of a run are kept apart: all on one Spark in the runner, or each group in a process of its own."""

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
    """Whatever runs the units of a run."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """A unit for each streamlet, producers first."""

    def held(self, rows: Mapping[UnitId, int | None]) -> Iterable[UnitHeld]:
        """What the state of units still holds, as far as it can be told, given the rows that each held after its last
        batch, where that is known."""

    def stop(self) -> None:
        """End all there is of it, and wait for it."""


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
        """Start the processes that have more than resting streamlets; the others start when one of theirs does."""
        for process in self._processes:
            if any(ref not in resting for ref in process.refs):
                process.begin()

    def held(self, rows: Mapping[UnitId, int | None]) -> Iterable[UnitHeld]:
        """Asked of all at the same time; nothing of those that are not up."""
        asked = [
            {id: count for id, count in rows.items() if id.streamlet in process.refs} for process in self._processes
        ]
        with ThreadPoolExecutor(max(1, len(self._processes))) as pool:
            answers = pool.map(DriverProcess.held, self._processes, asked)
            yield from chain.from_iterable(answers)

    def stop(self) -> None:
        """End all processes."""
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
    """What runs the streamlets of a plan. One Spark for all is there when this returns; processes have begun to start.

    Arguments:
        master: Spark's master; None for this machine.
        bounded: whether everything works off what there is and ends.
        resting: streamlets that are not to start yet.
        report: takes the units' facts; log: the full text of failures; print_line: what Spark prints; from any thread.

    Raises:
        SessionError: Spark cannot be started, or streamlets of one driver want it to be different.
    """
    if isolation == "none":
        session = session_plan(plan, state, master)
        return Driver(plan, state, session, bounded=bounded, report=report, log=log, print_line=print_line)
    require_java()
    found = driver_plans(plan)
    turn = threading.Semaphore(os.cpu_count() or 1)
    processes = []
    for each in found:
        session = session_plan(each.plan, state, master)
        own = replace(
            session, logs=session.logs / each.name, scratch=session.scratch / each.name, sparks=len(found),
            application=f"{plan.name}.{each.name}",
        )  # fmt: skip
        assignment = Assignment(each.plan, state, own, bounded)
        begin = partial(Process, PROGRAM, each.name, turn=turn)
        processes.append(DriverProcess(assignment, begin, report=report, log=log, print_line=print_line))
    drivers = DriverProcesses(tuple(processes), (streamlet.ref for streamlet in plan.streamlets))
    drivers.begin(resting)
    return drivers
