"""The program of a driver process: runs streamlets on a Spark of its own, by orders of the runner.

It exits when the runner exits for any reason, as that closes the wire. Spark's Java process exits with this process, as
that closes its standard input.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import NoReturn

from blueprint.settings.secret_sources import secrets_of_process
from streamlets.runner.drivers.driver import Driver
from streamlets.runner.drivers.messages import (
    STACKS_SIGNAL,
    Assignment,
    CheckUnit,
    DrainUnit,
    End,
    LocateBatch,
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
    stacks_file,
)
from streamlets.runner.drivers.wire import BrokenWireError, Wire
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Became, Fact, Lost, Unit
from streamlets.spark.failure import Failure, failure_of, text_of
from streamlets.spark.session import SessionError


class Program:
    """Carries out the orders of the runner.

    Arguments:
        send: sends a message to the runner, from any thread.
        driver: creates the driver.

    Raises:
        SessionError: Spark cannot be started.
    """

    def __init__(
        self, assignment: Assignment, send: Callable[[object], None], driver: Callable[..., Driver] = Driver
    ) -> None:
        self._send = send
        self._lock = threading.Lock()
        context = HostContext(
            plan=assignment.plan,
            state=assignment.state,
            bounded=assignment.bounded,
            report=self._report,
            log=lambda unit, text: send(Logged(unit, text)),
            print_line=lambda line: send(Printed(line)),
            secrets=secrets_of_process(assignment.plan, os.environ),
        )
        self._driver = driver(context, assignment.session, started=lambda java: send(SparkReady(java)))
        self._units: dict[UnitId, Unit] = {unit.id: unit for unit in self._driver.units}

    def carry_out(self, order: object) -> None:
        """Carry out an order of the runner; only `ReportState` takes long."""
        match order:
            case StartUnit(unit, run, last, replicas):
                self._unit(unit).start(run, last=last, replicas=replicas)
            case DrainUnit(unit):
                self._unit(unit).drain()
            case StopUnit(unit):
                self._unit(unit).stop()
            case CheckUnit(unit):
                self._unit(unit).check()
            case LocateBatch(unit, batch, since):
                self._unit(unit).locate(batch, since)
            case ReportState(rows):
                self._send(StateReport(tuple(self._driver.rows_in_state(rows))))

    def end(self) -> None:
        """Stop Spark."""
        self._driver.stop()

    def _unit(self, id: UnitId) -> Unit:
        with self._lock:
            if id not in self._units:
                self._units[id] = self._driver.query(id)
            return self._units[id]

    def _report(self, fact: Fact) -> None:
        if isinstance(fact, Became):
            with self._lock:
                self._units |= {part.id: part for part in fact.parts}
            parts = tuple(QueryPart(part.id, part.retry, part.bounded, part.unscalable) for part in fact.parts)
            self._send(UnitBecame(fact.unit, fact.run, parts))
        else:
            self._send(fact)


def main() -> NoReturn:
    """Run as a driver process; the first argument is the number of the wire's file descriptor."""
    faulthandler.enable()
    wire, orders = Wire.of(int(sys.argv[1])), SimpleQueue[object]()

    def send(message: object) -> None:
        try:
            wire.send(message)
        except OSError:
            os._exit(1)  # the runner has exited
        if isinstance(message, Lost):
            os._exit(1)  # the author's code may have objects of the exited Spark; a new process has none

    def listen() -> None:
        with contextlib.suppress(BrokenWireError):
            while (order := wire.receive()) is not None:
                orders.put(order)
        os._exit(1)  # the runner has exited, so that nothing can be reported

    threading.Thread(target=listen, name="orders", daemon=True).start()
    assignment = orders.get()
    assert isinstance(assignment, Assignment)
    stacks = stacks_file(assignment)
    with contextlib.suppress(OSError):  # a full disk: only the frames of a stuck process would be missing
        stacks.parent.mkdir(parents=True, exist_ok=True)
        faulthandler.register(STACKS_SIGNAL, file=stacks.open("w"), all_threads=True)
    try:
        program = Program(assignment, send)
    except BaseException as error:  # noqa: BLE001 - every error is reported to the runner
        send(SparkFailed(_failure(error), text_of(error)))
        os._exit(1)
    while not isinstance(order := orders.get(), End):
        program.carry_out(order)
    program.end()
    os._exit(0)


def _failure(error: BaseException) -> Failure:
    if isinstance(error, SessionError):
        return Failure(f"{error}; {error.help}", fatal="the next start would have the same settings")
    return failure_of(error, building=False)


if __name__ == "__main__":
    main()
