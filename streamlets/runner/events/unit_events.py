"""Events of a unit: its state, its work, and its batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

from blueprint.wording import counted, span
from streamlets.runner.events.busy import with_batch
from streamlets.runner.events.durations import with_duration
from streamlets.runner.events.event import Importance, UnitEvent
from streamlets.runner.events.port_counts import PortCounts
from streamlets.runner.events.status import (
    RESTING,
    UP,
    Hang,
    OpenTasks,
    RunningBatch,
    RunStatus,
    State,
    UnitStatus,
    summed,
)
from streamlets.runner.events.waits import wait_text


@dataclass(frozen=True, slots=True)
class UnitChanged(UnitEvent):
    """A unit entered a state.

    Arguments:
        cause: why, in one or several lines.
        frames: the frames of a failure in the user's code, outermost first.
        retry_in: seconds until the next restart.
        restarts: the restarts since the unit was last stable.
        waiting: with `starting`: what it waits for, such as `waiting for clicks`.
        waits_since: with `waiting`: when it began to wait, in seconds since the epoch; None for `time`.
        waits_until: when it fails if it still waits then; None for never.
        hook: `on_start` or `on_stop` if `cause` is the failure of this hook of the logic; empty otherwise.
        lost: whether the process that ran it was killed or has exited unexpectedly.
    """

    state: State
    cause: str = ""
    frames: tuple[str, ...] = ()
    _: KW_ONLY
    retry_in: float | None = None
    restarts: int = 0
    waiting: str = ""
    waits_since: float | None = None
    waits_until: float | None = None
    hook: str = ""
    lost: bool = False

    @property
    def importance(self) -> Importance:
        """A failure matters most. A drain without a cause is the whole run's, which has an event of its own."""
        match self.state:
            case "failed":
                return Importance.ERROR
            case "backing-off":
                return Importance.WARNING
            case "stopped" if self.cause:
                return Importance.NOTICE
            case "draining" if not self.cause:
                return Importance.DETAIL
        return Importance.STEP

    @property
    def line(self) -> str:
        about = "" if self.waiting else self.cause  # the event before a wait has the cause of the start
        return f"{self._headline}: {about}" if about else self._headline

    @property
    def lines(self) -> list[str]:
        if not self.frames:
            return self.line.splitlines()
        return [self._headline, *(f"at {frame}" for frame in self.frames), *self.cause.splitlines()]

    @property
    def _headline(self) -> str:
        waiting = f", {wait_text(self.waiting, self.waits_since, self.waits_until, self.time)}" if self.waiting else ""
        retry = f", restart in {self.retry_in:.1f} s" if self.retry_in is not None else ""
        return f"{self.unit}: {self.state}{waiting}{retry}"

    def changed(self, status: RunStatus) -> RunStatus:
        unit = status.units.get(self.unit) or UnitStatus(self.unit, self.state, self.time)
        return status.with_unit(self.changed_unit(unit))

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        again = self.state == "starting" and unit.state == "backing-off"
        up = self.state in UP
        return replace(
            unit,
            state=self.state,
            since=unit.since if self.state == unit.state else self.time,
            cause=self.cause,
            frames=self.frames,
            hook=self.hook,
            lost=self.lost,
            restarts=unit.restarts + again,
            retry_at=None if self.retry_in is None else self.time + self.retry_in,
            running=unit.running if up else None,
            recent=unit.recent if up else (),
            spells=unit.spells if up else (),
            waiting=self.waiting,
            waits_since=(self.waits_since or self.time) if self.waiting else None,
            waits_until=self.waits_until,
            overdue=unit.overdue and self.state not in RESTING,
            hang=unit.hang if self.state == "draining" else None,
        )


@dataclass(frozen=True, slots=True)
class UnitSplit(UnitEvent):
    """From now on the parts of a unit are supervised in its place, each by itself; `parts` are their names."""

    usually = Importance.DATA

    parts: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"{self.unit}: consists of {', '.join(self.parts)}"

    def changed(self, status: RunStatus) -> RunStatus:
        return replace(status, units={id: unit for id, unit in status.units.items() if id != self.unit})


@dataclass(frozen=True, slots=True)
class UnitProgressed(UnitEvent):
    """A unit finished a batch, or another amount of work.

    Arguments:
        batch: the number of the batch; None if its work has no batches.
        rows_in: rows that it read.
        rows_out: rows that it wrote, by the name of the outlet or sink.
        inlets: rows that it read, by inlet; rows of other sources are not among them.
        dead_letters: rows that broke a contract.
        late: rows dropped by the watermark, at least; see `RowsLate`.
        backlog: records not yet read, by inlet, where known.
        pending_rows: rows in state (windows, joins) after the batch that will still be emitted.
        seconds: the duration of the batch.
        watermark: ISO time, if the query has one.
        state_rows: all rows in state after the batch, as Spark counts them.
        state_bytes: the memory of the state after the batch.
        state_seconds: the time that Spark's tasks have spent in state, summed over all tasks.
        phases: the duration by phase, see `phases.PHASES`.
    """

    usually = Importance.DATA

    batch: int | None
    rows_in: int
    rows_out: Mapping[str, int] = field(default_factory=dict)
    _: KW_ONLY
    inlets: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    late: int = 0
    backlog: Mapping[str, int] = field(default_factory=dict)
    pending_rows: int = 0
    seconds: float = 0.0
    watermark: str | None = None
    state_rows: int = 0
    state_bytes: int = 0
    state_seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The rows that it read, or if it reads none, those that it wrote: the sign that the unit works."""
        return self.rows_in or sum(self.rows_out.values())

    @property
    def line(self) -> str:
        text = f"{self.unit}: " + ("" if self.batch is None else f"batch {self.batch}, ") + f"{self.rows_in} in"
        text += "".join(f", {rows} to {outlet}" for outlet, rows in sorted(self.rows_out.items()))
        text += f", {counted(self.dead_letters, 'dead letter')}" if self.dead_letters else ""
        text += f", {self.late:,} late" if self.late else ""
        text += f", {self.pending_rows:,} pending in state" if self.pending_rows else ""
        text += "" if self.batch is None else f", {self.seconds:.1f} s"
        backlog = sum(self.backlog.values())
        return text + (f", backlog {backlog}" if backlog else "")

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        running = unit.running
        in_batches = self.batch is not None
        finished = running is not None and self.batch is not None and running.number <= self.batch
        return replace(
            unit,
            rows_in=unit.rows_in + self.rows_in,
            rows_out=summed([unit.rows_out, self.rows_out]),
            ports=self._ports(unit.ports),
            dead_letters=unit.dead_letters + self.dead_letters,
            late=unit.late + self.late,
            pending_rows=self.pending_rows,
            state_rows=self.state_rows,
            state_bytes=self.state_bytes,
            state_seconds=round(unit.state_seconds + self.state_seconds, 3),
            backlog=self.backlog,
            oldest_unread={inlet: time for inlet, time in unit.oldest_unread.items() if self.backlog.get(inlet)},
            batch=self.batch,
            seconds=self.seconds,
            watermark=self.watermark or unit.watermark,
            recent=unit.recent_with(self.time, self.rows),
            running=None if finished else running,
            overdue=False,
            batches=unit.batches + in_batches,
            transactions=unit.transactions + (not in_batches),
            phases=self.phases,
            phase_seconds=_added(unit.phase_seconds, self.phases),
            durations=with_duration(unit.durations, self.seconds) if in_batches else unit.durations,
            spells=with_batch(unit.spells, self.time, self.seconds) if in_batches else unit.spells,
            last_record=self.time if self.rows else unit.last_record,
            hang=None,
        )

    def _ports(self, known: Mapping[str, PortCounts]) -> dict[str, PortCounts]:
        counts = {**self.inlets, **self.rows_out}
        return {**known, **{port: known.get(port, PortCounts()).after(self, rows) for port, rows in counts.items()}}


@dataclass(frozen=True, slots=True)
class UnitMeasured(UnitEvent):
    """A measurement of a unit from outside, without its Spark, has changed.

    Arguments:
        backlog: records that it has not committed, by inlet; None if unknown. What a unit reports about anything else
            stays as it is.
        running: the running batch and its start; None without one.
        tasks: the tasks of a batch source; None leaves the known tasks as they are.
        oldest: since when the oldest of these records waits, by inlet, where known, in seconds since the epoch.
    """

    usually = Importance.DATA

    backlog: Mapping[str, int | None] = field(default_factory=dict)
    running: tuple[int, float] | None = None
    _: KW_ONLY
    tasks: OpenTasks | None = None
    oldest: Mapping[str, float] = field(default_factory=dict)

    @property
    def line(self) -> str:
        return f"{self.unit}: backlog {sum(records or 0 for records in self.backlog.values()):,}"

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        number, since = self.running or (-1, 0.0)
        committed = unit.batch is not None and number <= unit.batch
        if self.running is None or committed or unit.state not in UP:
            running = None
        elif unit.running is not None and (unit.running.number, unit.running.since) == self.running:
            running = unit.running
        else:
            running = RunningBatch(number, since)
        measured = {**unit.backlog, **self.backlog}
        backlog = {inlet: records for inlet, records in measured.items() if records is not None}
        overdue = unit.overdue and any(backlog.values())
        oldest = {inlet: time for inlet, time in unit.oldest_unread.items() if inlet not in self.backlog}
        return replace(
            unit, backlog=backlog, running=running, tasks=self.tasks or unit.tasks, overdue=overdue,
            oldest_unread=oldest | dict(self.oldest),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitOverdue(UnitEvent):
    """Records have waited for longer than the streamlet's `patience`, and no batch was committed; reported once.

    Arguments:
        seconds: how long nothing was committed.
        records: how many wait.
    """

    usually = Importance.WARNING

    seconds: float
    records: int

    @property
    def line(self) -> str:
        waiting = f"while {counted(self.records, 'record waits', 'records wait')}"
        return f"{self.unit}: overdue: no batch was committed for {span(self.seconds)}, {waiting}"

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        return replace(unit, overdue=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStuck(UnitEvent):
    """A batch has been running for longer than `stuck-after`; reported once. It may still succeed.

    Arguments:
        since: when it started.
        seconds: how long it has been running.
        frames: the frames in the author's code, outermost first.
        stack: the frames of Spark, innermost first, if none of the author's code is running in this process.
    """

    usually = Importance.WARNING

    batch: int
    since: float
    seconds: float
    frames: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        return f"{self.unit}: stuck: batch {self.batch} has been running for {span(self.seconds)}"

    @property
    def lines(self) -> list[str]:
        spark = ["none of your code is running in this process; Spark is"] if self.stack and not self.frames else []
        return [self.line, *spark, *(f"at {frame}" for frame in self.frames or self.stack)]

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        if unit.running is None or unit.running.number != self.batch:
            return unit
        return replace(unit, running=replace(unit.running, stuck=True, where=self.frames or self.stack))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitStuck(UnitEvent):
    """A unit without batches, such as a spout, does not go on; reported once. It may still do so.

    Arguments:
        what: what does not happen, such as `no end of its discovery`.
        since: since when.
        frames: the frames in the author's code, outermost first.
    """

    usually = Importance.WARNING

    what: str
    since: float
    frames: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why it is stuck, with the time."""
        return f"{self.what} for {span(self.time - self.since)}"

    @property
    def line(self) -> str:
        return f"{self.unit}: stuck: {self.reason}"

    @property
    def lines(self) -> list[str]:
        return [self.line, *(f"at {frame}" for frame in self.frames)]

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        return replace(unit, hang=Hang(self.what, self.since, self.frames))


@dataclass(frozen=True, slots=True)
class UnitRecovered(UnitEvent):
    """A unit without batches that was stuck goes on."""

    usually = Importance.NOTICE

    @property
    def line(self) -> str:
        return f"{self.unit}: no longer stuck"

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        return replace(unit, hang=None)


@dataclass(frozen=True, slots=True)
class CheckpointRepaired(UnitEvent):
    """A damaged file of a unit's checkpoint was moved away before it started; `what` is which, and the effect."""

    usually = Importance.NOTICE

    what: str

    @property
    def line(self) -> str:
        return f"{self.unit}: {self.what}"


@dataclass(frozen=True, slots=True)
class UnitWarned(UnitEvent):
    """A unit works, but not quite as expected: `what` is the difference, or the step after its work that fails."""

    usually = Importance.WARNING

    what: str

    @property
    def line(self) -> str:
        return f"{self.unit}: {self.what}"


def _added(seconds: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    return {**seconds, **{phase: round(seconds.get(phase, 0.0) + value, 3) for phase, value in more.items()}}
