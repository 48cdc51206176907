"""`DriverProcess`: a driver in a process of its own; `RemoteUnit`: a unit of it, for the supervisor.

After the process has exited, the first of its units that is due starts it again, so that the units' back-off limits
the restarts of the process.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue

from blueprint.core_settings import Retry
from streamlets.runner.drivers.messages import (
    Assignment,
    CheckUnit,
    DrainUnit,
    End,
    LocateBatch,
    Logged,
    Order,
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
from streamlets.runner.drivers.process import Begin, Process, ProcessEnd
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.run_events import SparkStarting
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import Log
from streamlets.runner.supervision.facts import Became, Ended, Fact, Lost, Progressed, Seen, Started
from streamlets.runner.units.stack_frames import dumped_frames
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
    unscalable: str = ""

    @property
    def host(self) -> str:
        """Its driver."""
        return self.driver.host

    @property
    def wall_clock(self) -> bool:
        """True: Spark triggers its batches."""
        return True

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start; also starts the driver process if it is not running."""
        self.driver.start(StartUnit(self.id, run, last, replicas))

    def drain(self) -> None:
        """Have it end after its running batch."""
        self.driver.send(DrainUnit(self.id))

    def stop(self) -> None:
        """Have it end at once."""
        self.driver.stop_unit(self.id)

    def kill(self) -> None:
        """Replace its driver process."""
        self.driver.replace(self.id)

    def check(self) -> None:
        """Have it check whether it has ended without a report."""
        self.driver.send(CheckUnit(self.id))

    def locate(self, batch: int, since: float) -> None:
        """Have it report where its batch is."""
        self.driver.send(LocateBatch(self.id, batch, since))


class DriverProcess:
    """A driver of a run in a process of its own, which is started again after it has exited.

    Arguments:
        assignment: its part of the application.
        begin: starts a process; see `Process` for arguments and exceptions.
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
        self._live: dict[UnitId, int] = {}  # the runs that were started and have not ended
        self._up = self._was_up = False
        self._spark_failed: SparkFailed | None = None
        self._ending = False
        self._stuck: UnitId | None = None  # the unit because of which the process was killed
        self._state_reports: SimpleQueue[tuple[RowsInState, ...]] = SimpleQueue()

    @property
    def host(self) -> str:
        """The name of the driver among the hosts of a run."""
        return f"driver {self._assignment.name}"

    @property
    def refs(self) -> frozenset[str]:
        """The names of its streamlets."""
        return frozenset(streamlet.ref for streamlet in self._assignment.plan.streamlets)

    @property
    def units(self) -> tuple[RemoteUnit, ...]:
        """A unit for each of its streamlets, producers first."""
        bounded = self._assignment.bounded
        return tuple(
            RemoteUnit(UnitId(streamlet.ref, ""), streamlet.settings.retry, bounded, self)
            for streamlet in self._assignment.plan.streamlets
        )

    def begin(self) -> None:
        """Start Spark before a unit needs it. The first unit that needs it reports an error."""
        with self._lock, suppress(OSError):
            self._process = self._process or self._start_process()

    def start(self, order: StartUnit) -> None:
        """Start a run of a unit, in a new process if none is running."""
        with self._lock:
            self._live[order.unit] = order.run
            try:
                if self._process is None:
                    self._process = self._start_process()
                self._process.send(order)
            except OSError as error:
                del self._live[order.unit]
                self._report(Ended(order.unit, order.run, Failure(f"its driver process cannot be started: {error}")))

    def send(self, order: Order) -> None:
        """Send an order, unless the process has exited."""
        with self._lock:
            if self._process is not None:
                self._process.send(order)

    def stop_unit(self, unit: UnitId) -> None:
        """Have a unit end at once; as long as Spark is starting, it ends here."""
        with self._lock:
            self.send(StopUnit(unit))
            run = None if self._up else self._live.pop(unit, None)
        if run is not None:
            self._report(Ended(unit, run))

    def replace(self, stuck: UnitId) -> None:
        """Kill the process because of a unit that is stuck and cannot be stopped; its other units fail with it.

        A new process is started by the first of them that is due, after the Java process of this one has exited.
        """
        with self._lock:
            if self._process is not None and stuck in self._live:
                self._stuck = stuck
                self._process.kill_after_dump(stacks_file(self._assignment))

    def rows_in_state(
        self, rows: Mapping[UnitId, int | None], patience: float = _STOP_PATIENCE
    ) -> tuple[RowsInState, ...]:
        """Return the rows that remain in the state of its units; () without Spark, or an answer in `patience`
        seconds."""
        with self._lock:
            if self._process is None or not self._up:
                return ()
            answer: SimpleQueue[tuple[RowsInState, ...]] = SimpleQueue()
            self._state_reports = answer
            self._process.send(ReportState(rows))
        try:
            return answer.get(timeout=patience)
        except Empty:  # it hangs, and this is not worth a delay of the end of the run
            return ()

    def end(self) -> None:
        """Have it stop Spark and exit, for good; `wait` waits for that."""
        with self._lock:
            self._ending = True
            if self._process is None:
                return
            if self._up:
                self._process.send(End())
            else:
                self._process.kill()

    def wait(self, patience: float = _STOP_PATIENCE) -> None:
        """Wait for its exit; kill it after `patience` seconds."""
        process = self._process
        if process is not None and not process.wait(patience):
            process.kill()
            process.wait(patience)

    def _start_process(self) -> Process:
        self._spark_failed = None
        if self._was_up:  # the run itself reports the first start
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
            case UnitBecame(unit, run, parts):
                with self._lock:
                    self._live.pop(unit, None)
                self._report(Became(unit, run, tuple(map(self._unit_of, parts))))
            case Lost(failure):
                with self._lock:
                    self._live.clear()
                    self._report(Lost(failure, self.host))
            case Logged(unit, text):
                self._log(unit, text)
            case Printed(line):
                with suppress(OSError, ValueError):  # the terminal is closed
                    self._print(line)
            case SparkReady():
                with self._lock:
                    self._up = self._was_up = True
            case SparkFailed():
                self._spark_failed = message
            case StateReport(events):
                self._state_reports.put(events)

    def _unit_of(self, part: QueryPart) -> RemoteUnit:
        return RemoteUnit(part.unit, part.retry, part.bounded, self, part.unscalable)

    def _gone(self, end: ProcessEnd) -> None:
        shutil.rmtree(self._assignment.session.scratch, ignore_errors=True)
        with self._lock:
            failure, text = self._failure(end), self._spark_failed.text if self._spark_failed else end.errors
            live, self._live = self._live, {}
            self._process, self._up, self._stuck = None, False, None
            self._state_reports.put(())
        if self._ending:
            return
        for unit, run in live.items():
            self._log(unit, f"{failure.cause}\n{text}".rstrip())
            self._report(Ended(unit, run, failure))

    def _failure(self, end: ProcessEnd) -> Failure:
        if self._spark_failed is not None:  # after an earlier start the settings are known to be correct
            return replace(self._spark_failed.failure, fatal="") if self._was_up else self._spark_failed.failure
        if self._stuck is not None:
            cause = f"its driver process was replaced, because `{self._stuck}` was stuck and could not be stopped"
            return Failure(cause, _stuck_frames(stacks_file(self._assignment)), disturbance=True, lost=True)
        if self._up:
            return Failure(f"its driver process exited ({end.how})", lost=True)
        last_line = end.errors.strip().rpartition("\n")[2]
        logs = self._assignment.session.logs
        return Failure(
            f"its driver process exited before Spark had started ({end.how}{f': {last_line}' if last_line else ''}); "
            f"see run.log and {logs}"
        )


def _stuck_frames(stacks: Path) -> tuple[str, ...]:
    """Return the frames of the author's code in the stacks that a process has left."""
    try:
        return dumped_frames(stacks.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ()
