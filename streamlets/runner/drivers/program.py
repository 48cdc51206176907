"""The program of a driver process: runs streamlets on a Spark of its own, as the runner at the other end tells it.

It ends when the runner does, however that ends: the wire is closed then, and Spark's Java process hangs on a pipe of
this process.
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

from streamlets.runner.drivers.driver import Driver
from streamlets.runner.drivers.messages import (
    Assignment,
    CheckUnit,
    DrainUnit,
    End,
    Held,
    LocateBatch,
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
from streamlets.runner.drivers.wire import BrokenWireError, Wire
from streamlets.runner.events.model import UnitId
from streamlets.runner.supervision.facts import Became, Fact, Lost, Unit
from streamlets.spark.failure import Failure, failure_of, text_of
from streamlets.spark.session import SessionError


class Program:
    """Carries orders out until it is told to end.

    Arguments:
        tell: sends a message to the runner, from any thread.
        driver: makes what runs the streamlets.

    Raises:
        SessionError: Spark cannot be started.
    """

    def __init__(
        self, assignment: Assignment, tell: Callable[[object], None], driver: Callable[..., Driver] = Driver
    ) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._driver = driver(
            assignment.plan,
            assignment.state,
            assignment.session,
            bounded=assignment.bounded,
            report=self._report,
            log=lambda unit, text: tell(Logged(unit, text)),
            print_line=lambda line: tell(Printed(line)),
            started=lambda java: tell(Up(java)),
        )
        self._units: dict[UnitId, Unit] = {unit.id: unit for unit in self._driver.units}

    def carry_out(self, order: object) -> None:
        """Do what the runner wants; nothing of it takes long but telling what state holds."""
        match order:
            case StartUnit(unit, run):
                self._unit(unit).start(run)
            case DrainUnit(unit):
                self._unit(unit).drain()
            case StopUnit(unit):
                self._unit(unit).stop()
            case CheckUnit(unit):
                self._unit(unit).check()
            case LocateBatch(unit, batch, since):
                self._unit(unit).locate(batch, since)
            case ReportHeld(rows):
                self._tell(Held(tuple(self._driver.held(rows))))

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
            parts = tuple(Part(part.id, part.retry, part.bounded) for part in fact.parts)
            self._tell(Parted(fact.unit, fact.run, parts))
        else:
            self._tell(fact)


def main() -> NoReturn:
    """Run as a process of its own; the first argument is the number of the wire's descriptor."""
    faulthandler.enable()
    wire, orders = Wire.of(int(sys.argv[1])), SimpleQueue[object]()

    def tell(message: object) -> None:
        try:
            wire.send(message)
        except OSError:
            os._exit(1)  # the runner is gone
        if isinstance(message, Lost):
            os._exit(1)  # the author's code may hold objects of the Spark that is gone: a new process holds none

    def listen() -> None:
        with contextlib.suppress(BrokenWireError):
            while (order := wire.receive()) is not None:
                orders.put(order)
        os._exit(1)  # the runner is gone, whatever this process is doing; nobody would hear of it

    threading.Thread(target=listen, name="orders", daemon=True).start()
    assignment = orders.get()
    assert isinstance(assignment, Assignment)
    try:
        program = Program(assignment, tell)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the runner is to know
        tell(NotUp(_failure(error), text_of(error)))
        os._exit(1)
    while not isinstance(order := orders.get(), End):
        program.carry_out(order)
    program.end()
    os._exit(0)


def _failure(error: BaseException) -> Failure:
    if isinstance(error, SessionError):
        return Failure(f"{error}; {error.help}", fatal="the next start would be with the same settings")
    return failure_of(error, building=False)


if __name__ == "__main__":
    main()
