"""`DriverProcess`: a driver in a process of its own, and `RemoteUnit`: a unit there, as the supervisor knows it.

After the process died, the first of its units that is due has it started anew: so it is the units' back-off that limits
how often.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from blueprint.plan import Retry
from streamlets.runner.drivers.messages import (
    Assignment,
    CheckUnit,
    DrainUnit,
    End,
    Held,
    LocateBatch,
    Logged,
    NotUp,
    Order,
    Parted,
    Printed,
    ReportHeld,
    StartUnit,
    StopUnit,
    Up,
)
from streamlets.runner.drivers.process import Begin, Process, ProcessEnd
from streamlets.runner.events.model import SparkStarting, UnitHeld, UnitId
from streamlets.runner.supervision.facts import Became, Ended, Fact, Lost, Progressed, Seen, Started
from streamlets.runner.units.units import Log
from streamlets.spark.failure import Failure

# Spark has 20 s to stop, then its Java process is killed by its driver; then the driver is.
_STOP_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class RemoteUnit:
    """A unit in a driver process."""

    id: UnitId
    retry: Retry
    bounded: bool
    driver: DriverProcess = field(repr=False, compare=False)

    def start(self, run: int) -> None:
        """Begin; also brings up the driver when it is not there."""
        self.driver.start(self.id, run)

    def drain(self) -> None:
        """Have it end after its running batch."""
        self.driver.send(DrainUnit(self.id))

    def stop(self) -> None:
        """Have it end at once."""
        self.driver.stop_unit(self.id)

    def check(self) -> None:
        """Have it looked at."""
        self.driver.send(CheckUnit(self.id))

    def locate(self, batch: int, since: float) -> None:
        """Have it found where its batch is."""
        self.driver.send(LocateBatch(self.id, batch, since))


class DriverProcess:
    """A driver process of a run, over all its lives.

    Arguments:
        assignment: what it is for.
        begin: begins a life of it; see `Process` for the arguments and what is raised.
        report: takes its units' facts, from any thread.
        log: takes the full text of each failure, from any thread.
        print_line: takes each line that it prints, from any thread.
    """

    def __init__(
        self,
        assignment: Assignment,
        begin: Begin,
        *,
        report: Callable[[Fact], None],
        log: Log,
        print_line: Callable[[str], None],
    ) -> None:
        self._assignment, self._begin = assignment, begin
        self._report, self._log, self._print = report, log, print_line
        self._lock = threading.RLock()
        self._process: Process | None = None
        self._live: dict[UnitId, int] = {}  # the runs that began and whose end is not known
        self._up = self._was_up = False
        self._not_up: NotUp | None = None
        self._ending = False
        self._held: SimpleQueue[tuple[UnitHeld, ...]] = SimpleQueue()

    @property
    def refs(self) -> frozenset[str]:
        """Its streamlets."""
        return frozenset(streamlet.ref for streamlet in self._assignment.plan.streamlets)

    @property
    def units(self) -> tuple[RemoteUnit, ...]:
        """A unit for each of its streamlets, producers first."""
        bounded = self._assignment.bounded
        return tuple(
            RemoteUnit(UnitId(each.ref, ""), each.retry, bounded, self) for each in self._assignment.plan.streamlets
        )

    def begin(self) -> None:
        """Have Spark started before a unit wants it. Whatever is wrong is told to the first one that does."""
        with self._lock, suppress(OSError):
            self._process = self._process or self._begun()

    def start(self, unit: UnitId, run: int) -> None:
        """Begin a unit's run, in a new process when there is none."""
        with self._lock:
            self._live[unit] = run
            try:
                if self._process is None:
                    self._process = self._begun()
                self._process.send(StartUnit(unit, run))
            except OSError as error:
                del self._live[unit]
                self._report(Ended(unit, run, Failure(f"its driver process cannot be started: {error}")))

    def send(self, order: Order) -> None:
        """Give an order; to a process that is gone none is needed."""
        with self._lock:
            if self._process is not None:
                self._process.send(order)

    def stop_unit(self, unit: UnitId) -> None:
        """Have a unit end at once; before Spark is there it has ended already."""
        with self._lock:
            self.send(StopUnit(unit))
            run = None if self._up else self._live.pop(unit, None)
        if run is not None:
            self._report(Ended(unit, run))

    def held(self, rows: Mapping[UnitId, int | None], patience: float = _STOP_PATIENCE) -> tuple[UnitHeld, ...]:
        """What its units still hold. Nothing when it is not up, or says nothing within `patience` seconds."""
        with self._lock:
            if self._process is None or not self._up:
                return ()
            answer: SimpleQueue[tuple[UnitHeld, ...]] = SimpleQueue()
            self._held = answer
            self._process.send(ReportHeld(rows))
        try:
            return answer.get(timeout=patience)
        except Empty:  # it hangs: the end of a run does not wait for what would only be told
            return ()

    def end(self) -> None:
        """Have it stop Spark and end, for good; `wait` sees to it."""
        with self._lock:
            self._ending = True
            if self._process is None:
                return
            if self._up:
                self._process.send(End())
            else:
                self._process.kill()

    def wait(self, patience: float = _STOP_PATIENCE) -> None:
        """Wait for its end, then enforce it."""
        process = self._process
        if process is not None and not process.wait(patience):
            process.kill()
            process.wait(patience)

    def _begun(self) -> Process:
        self._not_up = None
        if self._was_up:  # that it starts at first the run reports
            self._report(Seen(SparkStarting(time.time(), tuple(sorted(self.refs)))))
        process = self._begin(hear=self._hear, gone=self._gone, print_line=self._print)
        process.send(self._assignment)
        return process

    def _hear(self, message: object) -> None:
        match message:
            case Ended(unit, run):
                with self._lock:
                    if self._live.get(unit) == run:
                        del self._live[unit]
                self._report(message)
            case Started() | Progressed() | Seen():
                self._report(message)
            case Parted(unit, run, parts):
                with self._lock:
                    self._live.pop(unit, None)
                made = tuple(RemoteUnit(part.unit, part.retry, part.bounded, self) for part in parts)
                self._report(Became(unit, run, made))
            case Lost():
                with self._lock:
                    self._live.clear()
                    self._report(message)
            case Logged(unit, text):
                self._log(unit, text)
            case Printed(line):
                with suppress(OSError, ValueError):  # nobody sees it
                    self._print(line)
            case Up():
                with self._lock:
                    self._up = self._was_up = True
            case NotUp():
                self._not_up = message
            case Held(events):
                self._held.put(events)

    def _gone(self, demise: ProcessEnd) -> None:
        shutil.rmtree(self._assignment.session.scratch, ignore_errors=True)
        with self._lock:
            failure, text = self._why(demise), self._not_up.text if self._not_up else demise.words
            live, self._live = self._live, {}
            self._process, self._up = None, False
            self._held.put(())
        if self._ending:
            return
        for unit, run in live.items():
            self._log(unit, f"{failure.cause}\n{text}".rstrip())
            self._report(Ended(unit, run, failure))

    def _why(self, demise: ProcessEnd) -> Failure:
        if self._not_up is not None:  # settings that were right once are right
            return replace(self._not_up.failure, fatal="") if self._was_up else self._not_up.failure
        if self._up:
            return Failure(f"its driver process is gone ({demise.how})")
        said = demise.words.strip().rpartition("\n")[2]
        logs = self._assignment.session.logs
        return Failure(
            f"its driver process ended before Spark was there ({demise.how}{f': {said}' if said else ''}); "
            f"see run.log and {logs}"
        )
