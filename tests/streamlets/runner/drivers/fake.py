"""A driver process without Spark. It follows the protocol or breaks it, by the names of its units and its argument."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time

from blueprint.core_settings import Retry
from streamlets.runner.drivers.messages import (
    STACKS_SIGNAL,
    Assignment,
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
from streamlets.runner.drivers.wire import Wire
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import BatchStuck, UnitProgressed
from streamlets.runner.supervision.facts import Ended, Lost, Progressed, Seen, Started
from streamlets.spark.failure import Failure


class FakeDriver:
    """A driver that reports to have carried out its orders."""

    def __init__(self, wire: Wire, java: subprocess.Popen[bytes]) -> None:
        self.wire, self.java = wire, java
        self.runs: dict[UnitId, int] = {}

    def start(self, unit: UnitId, run: int) -> None:
        """Report a start, or do what the name of the unit is."""
        self.runs[unit] = run
        match unit.streamlet:
            case "killed" if run == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            case "forks" if run == 1:
                if os.fork() == 0:
                    time.sleep(600)
                    os._exit(0)
                self.wire.send(Started(unit, run))
            case "garbage" if run == 1:
                self.wire._end.sendall(b"Traceback (most recent call last): and so on, for ever and ever")
            case "split" if not unit.part:
                parts = tuple(QueryPart(UnitId("split", name), Retry(max_attempts=5), False) for name in ("x", "y"))
                self.wire.send(UnitBecame(unit, run, parts))
            case "failing" if run == 1:
                self.wire.send(Logged(unit, "all of it"))
                self.wire.send(Ended(unit, run, Failure("it broke")))
            case "lost" if run == 1:
                self.wire.send(Started(unit, run))
                self.java.kill()
                self.wire.send(Lost(Failure("Java exited"), "spark"))
                os._exit(1)
            case _:
                print(f"{unit} prints")
                self.wire.send(Started(unit, run))
                self.wire.send(Progressed(run, UnitProgressed(time.time(), unit, run, 10)))

    def drain(self, unit: UnitId) -> None:
        """Report an end, or do what the name of the unit is."""
        match unit.streamlet:
            case "dies-draining":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stubborn":
                self.wire.send(Printed("never!"))
            case _:
                self.wire.send(Ended(unit, self.runs[unit]))

    def carry_out(self, order: object) -> None:
        """Carry out an order of the runner."""
        match order:
            case StartUnit(unit, run):
                self.start(unit, run)
            case DrainUnit(unit):
                self.drain(unit)
            case LocateBatch(unit) if unit.streamlet == "deaf":
                block_the_interpreter()
            case StopUnit(unit):
                self.wire.send(Ended(unit, self.runs[unit]))
            case LocateBatch(unit, batch, since):
                self.wire.send(
                    Seen(
                        BatchStuck(
                            time=0.0, unit=unit, batch=batch, since=since, seconds=0.0, frames=("app.py:1 in each",)
                        )
                    )
                )
            case ReportState(rows) if not any(unit.streamlet == "stubborn" for unit in rows):
                self.wire.send(StateReport(tuple(RowsInState(0.0, unit, "join", 7) for unit in rows)))


def block_the_interpreter() -> None:
    """Hang in C with the interpreter lock, so that no thread of this process runs any more."""
    c, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    c.pthread_mutex_lock(mutex)
    c.pthread_mutex_lock(mutex)


def main() -> None:
    """Run as a driver process."""
    how, descriptor, name = sys.argv[1:]
    wire = Wire.of(int(descriptor))
    assignment = wire.receive()
    assert isinstance(assignment, Assignment)
    print(f"{name} is driver {os.getpid()}", flush=True)
    stacks = stacks_file(assignment)
    stacks.parent.mkdir(parents=True, exist_ok=True)
    faulthandler.register(STACKS_SIGNAL, file=stacks.open("w"), all_threads=True)
    if how == "breaks":
        raise ModuleNotFoundError("No module named 'pandas'")
    if how == "refused":
        wire.send(
            SparkFailed(Failure("Spark refuses spark.x", fatal="it is wrong"), "SessionError: Spark refuses spark.x")
        )
        return
    while how == "hangs":
        time.sleep(1)
    java = subprocess.Popen(["sleep", "1000"], start_new_session=True)  # unlike Java, it does not exit by itself
    wire.send(SparkReady(java.pid))
    driver = FakeDriver(wire, java)
    while (order := wire.receive()) is not None and not isinstance(order, End):
        driver.carry_out(order)
    java.kill()


if __name__ == "__main__":
    main()
