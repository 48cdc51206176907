"""Launchers: where the streamlets on Spark run. Each is found by the name of an isolation."""

from __future__ import annotations

import os
import threading
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Protocol

from blueprint.core_settings import ClusterSettings, Isolation
from blueprint.wording import counted
from streamlets.runner.drivers.driver import Driver, session_plan
from streamlets.runner.drivers.groups import driver_plans
from streamlets.runner.drivers.messages import Assignment
from streamlets.runner.drivers.process import PROGRAM, Process
from streamlets.runner.drivers.remote import DriverProcess
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import Host, HostContext
from streamlets.runner.supervision.facts import Unit
from streamlets.spark.cluster_settings import CORES_MAX, cores_of
from streamlets.spark.java import require_java
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan


class Launcher(Protocol):
    """Starts Spark for streamlets."""

    def __call__(self, context: HostContext) -> Host:
        """Return the host of the streamlets of a plan; no streamlet is started.

        Raises:
            SessionError: Spark cannot be started, or streamlets of a driver have different process-wide settings.
        """


def one_driver(context: HostContext) -> Host:
    """Start one Spark for all streamlets, in this process; it is running on return."""
    return Driver(context, session_plan(context.plan, context.state, context.master))


def driver_processes(context: HostContext) -> Host:
    """Start a process with a Spark of its own for each group of streamlets; they are starting on return."""
    require_java()
    drivers_planned = driver_plans(context.plan)
    sessions = {driver.name: session_plan(driver.plan, context.state, context.master) for driver in drivers_planned}
    shares = cluster_shares(sessions)
    turn = threading.Semaphore(os.cpu_count() or 1)
    processes = []
    for driver in drivers_planned:
        session = sessions[driver.name]
        session = replace(
            session, logs=session.logs / driver.name, scratch=session.scratch / driver.name,
            sparks=len(drivers_planned), application=f"{context.plan.name}.{driver.name}", cluster=shares[driver.name],
        )  # fmt: skip
        assignment = Assignment(driver.name, driver.plan, context.state, session, context.bounded)
        begin = partial(Process, PROGRAM, driver.name, turn=turn)
        processes.append(
            DriverProcess(assignment, begin, report=context.report, log=context.log, print_line=context.print_line)
        )
    drivers = DriverProcesses(tuple(processes))
    drivers.begin(context.resting)
    return drivers


def cluster_shares(sessions: Mapping[str, SessionPlan]) -> dict[str, ClusterSettings]:
    """Return the settings of the cluster of each driver. On a standalone cluster, drivers without a limit share one.

    Arguments:
        sessions: the settings of the Spark of each driver, by its name.

    Raises:
        SessionError: there are too few cores, or their number is not set: then the first driver would take all.
    """
    settings = {name: session.cluster for name, session in sessions.items()}
    masters = {name: session.spark_master for name, session in sessions.items()}
    sharing = [
        name
        for name, master in masters.items()
        if master is not None and master.kind == "standalone" and CORES_MAX not in sessions[name].settings
    ]
    if len(sharing) < 2:
        return settings
    first = masters[sharing[0]]
    assert first is not None
    cores = cores_of(settings[sharing[0]], first)
    if cores is None or cores < len(sharing):
        have = "all cores of the cluster" if cores is None else counted(cores, "core")
        raise SessionError(
            f"{counted(len(sharing), 'driver')} share {have}, and each needs a core that the others do not take",
            "set `flow.cluster.cores-max` to a number for all of them, or put streamlets into the same group",
        )
    each, more = divmod(cores, len(sharing))
    shares = {name: each + (number < more) for number, name in enumerate(sharing)}
    return settings | {name: replace(settings[name], cores_max=share) for name, share in shares.items()}


LAUNCHERS: Mapping[Isolation, Launcher] = {"none": one_driver, "process": driver_processes}


class DriverProcesses:
    """The driver processes of a run."""

    def __init__(self, processes: tuple[DriverProcess, ...]) -> None:
        self._processes = processes

    @property
    def units(self) -> tuple[Unit, ...]:
        """A unit for each streamlet."""
        return tuple(unit for process in self._processes for unit in process.units)

    def begin(self, resting: Container[str]) -> None:
        """Start the processes with a streamlet that is not resting; the others start with their first streamlet."""
        for process in self._processes:
            if any(ref not in resting for ref in process.refs):
                process.begin()

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterable[RowsInState]:
        """Return the rows that remain in the state of units, from all running processes concurrently."""
        parts = [
            {id: count for id, count in rows.items() if id.streamlet in process.refs} for process in self._processes
        ]
        with ThreadPoolExecutor(max(1, len(self._processes))) as pool:
            answers = pool.map(DriverProcess.rows_in_state, self._processes, parts)
            yield from chain.from_iterable(answers)

    def stop(self) -> None:
        """Stop all processes, and wait for their end."""
        for process in self._processes:
            process.end()
        for process in self._processes:
            process.wait()
