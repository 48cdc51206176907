"""The status of a run. Its events change it, and nothing else: the same events give the same status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

from streamlets.runner.events.busy import Spells, busy_ratio
from streamlets.runner.events.durations import Durations
from streamlets.runner.events.executors import Executors
from streamlets.runner.events.port_counts import PortCounts
from streamlets.runner.events.watermark import watermark_time

State = Literal["starting", "running", "draining", "backing-off", "paused", "stopped", "completed", "failed"]

UP: frozenset[State] = frozenset({"running", "draining"})
"""The states of a unit that processes records. In `draining` it finishes its running batch, then it ends."""

RESTING: frozenset[State] = frozenset({"paused", "stopped", "completed", "failed"})
"""The states of a unit that processes nothing until somebody asks for it."""

RATE_WINDOW = 15.0
"""Seconds over which rates are averaged."""

# The state of a streamlet is the first of these that one of its units is in.
_MOST_IMPORTANT: tuple[State, ...] = (
    "draining", "failed", "backing-off", "starting", "running", "paused", "stopped", "completed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitId:
    """The id of a supervised unit.

    Arguments:
        streamlet: the name of the streamlet.
        part: its part, such as the name of a query; empty for the streamlet as a whole.
    """

    streamlet: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.streamlet}.{self.part}" if self.part else self.streamlet

    def data(self) -> dict[str, str]:
        """Return it as data for JSON, with the words of users."""
        return {"streamlet": self.streamlet, "query": self.part}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTasks:
    """The tasks of a batch source that somebody may have to look after.

    Arguments:
        oldest: when the oldest waiting task was discovered, in seconds since the epoch; None if none waits.
        failed: the number of tasks that have failed for good and were not repeated.
    """

    oldest: float | None = None
    failed: int = 0


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """A batch that is not committed yet.

    Arguments:
        since: when it started, in seconds since the epoch.
        stuck: whether it takes longer than `stuck-after`.
        where: the frames of a stuck batch, see `BatchStuck`.
    """

    number: int
    since: float
    stuck: bool = False
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hang:
    """The place in which a unit without batches is stuck.

    Arguments:
        what: what does not happen, such as `no end of its discovery`.
        since: since when, in seconds since the epoch.
        where: the frames in the author's code, outermost first.
    """

    what: str
    since: float
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """The status of a unit; all times are in seconds since the epoch.

    Arguments:
        since: when it entered its state.
        restarts: the number of restarts in this run.
        retry_at: when the next restart is due.
        rows_in, rows_out, dead_letters, late: counts since the run started; rows_out by outlet.
        pending_rows, state_rows, batch, watermark, seconds: as of the last batch.
        backlog: records not committed, by inlet.
        running: the running batch; None without one.
        recent: rows of the last seconds, as far back as `RATE_WINDOW`: the time of the first batch in each second, and
            the sum of the rows read in that second, or written by a unit that reads none.
        waiting: what it waits for while it is `starting`.
        waits_since: when it began to wait; None if it does not.
        waits_until: when it fails if it still waits then; None for never.
        tasks: the tasks of a batch source, see `OpenTasks`; None if it has none.
        overdue: whether records have waited for longer than `patience` without a committed batch.
        hook: `on_start` or `on_stop` if `cause` is the failure of this hook of the logic; empty otherwise.
        ports: what it has read and written, by inlet and outlet.
        batches: the number of finished batches since the run started.
        transactions: the same for work without batches: transactions of a spout, discoveries of a batch source.
        phases: the seconds of the last batch by phase, see `phases.PHASES`.
        phase_seconds: the seconds of all batches since the run started, by phase.
        state_seconds: the time that Spark's tasks have spent in state since the run started, summed over all tasks.
        state_bytes: the memory of the state after the last batch.
        durations: the number of batches since the run started by their duration, see `durations.BOUNDS`.
        spells: when batches ran in the last minute, see `busy`.
        last_record: when the last batch with records was finished; None without one.
        oldest_unread: since when the oldest record waits that is not committed, by inlet, where known.
        lost: whether its process was killed or has exited unexpectedly, and it waits for its restart.
        hang: where it is stuck, if it has no batches; None if it is not.
    """

    unit: UnitId
    state: State
    since: float
    _: KW_ONLY
    cause: str = ""
    frames: tuple[str, ...] = ()
    restarts: int = 0
    retry_at: float | None = None
    rows_in: int = 0
    rows_out: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    late: int = 0
    pending_rows: int = 0
    state_rows: int = 0
    backlog: Mapping[str, int] = field(default_factory=dict)
    batch: int | None = None
    seconds: float = 0.0
    watermark: str | None = None
    recent: tuple[tuple[float, int], ...] = ()
    running: RunningBatch | None = None
    waiting: str = ""
    waits_since: float | None = None
    waits_until: float | None = None
    tasks: OpenTasks | None = None
    overdue: bool = False
    hook: str = ""
    ports: Mapping[str, PortCounts] = field(default_factory=dict)
    batches: int = 0
    transactions: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    phase_seconds: Mapping[str, float] = field(default_factory=dict)
    state_seconds: float = 0.0
    state_bytes: int = 0
    durations: Durations = ()
    spells: Spells = ()
    last_record: float | None = None
    oldest_unread: Mapping[str, float] = field(default_factory=dict)
    lost: bool = False
    hang: Hang | None = None

    @property
    def awaits(self) -> bool:
        """Whether it waits for others as its settings require, for as long as that takes."""
        return self.state == "starting" and self.waits_since is not None and self.waits_until is None

    def busy(self, now: float) -> float | None:
        """Return the share of the last minute that it has spent in batches, from 0 to 1; None if it has no batches."""
        if self.batch is None and self.running is None:
            return None
        running = self.running.since if self.running is not None else None
        begun = [self.since, *(end - seconds for end, seconds in self.spells)]  # `draining` begins later
        return busy_ratio(self.spells, min(begun), running, now) if self.state in UP else 0.0

    def watermark_delay(self, now: float) -> float | None:
        """Return how far the watermark is behind the current time, in seconds; None without one."""
        time = watermark_time(self.watermark) if self.watermark else None
        return None if time is None else max(0.0, now - time)

    def backlog_age(self, now: float) -> float | None:
        """Return the age of the oldest record that is not committed, in seconds: 0 without one, None if unknown."""
        if any(records and inlet not in self.oldest_unread for inlet, records in self.backlog.items()):
            return None
        oldest = [time for inlet, time in self.oldest_unread.items() if self.backlog.get(inlet)]
        return max(0.0, now - min(oldest)) if oldest else (0.0 if self.backlog else None)

    def rate(self, now: float) -> float:
        """Rows per second over the last `RATE_WINDOW` seconds."""
        recent = [(time, rows) for time, rows in self.recent if _is_recent(time, now)]
        span = now - recent[0][0] + self.seconds if recent else 0.0  # shorter than the window soon after the start
        return sum(rows for _, rows in recent) / max(1.0, min(RATE_WINDOW, span))

    def recent_with(self, now: float, rows: int) -> tuple[tuple[float, int], ...]:
        """Return `recent` after a batch; one entry per second keeps the status small."""
        recent = tuple((time, count) for time, count in self.recent if _is_recent(time, now))
        if not rows:
            return recent
        if recent and int(recent[-1][0]) == int(now):
            time, count = recent[-1]
            return (*recent[:-1], (time, count + rows))
        return (*recent, (now, rows))


@dataclass(frozen=True, slots=True)
class StreamletStatus:
    """The status of a streamlet: the sums over its units, and the most important of their states.

    Arguments:
        waiting: what it waits for while it is `starting`; empty if unknown.
        waits_since: as in `UnitStatus`.
        waits_until: as in `UnitStatus`.
        replicas: the requested number of replicas; None if it has as many as in the blueprint.
    """

    ref: str
    state: State
    cause: str
    units: tuple[UnitStatus, ...]
    waiting: str = ""
    waits_since: float | None = None
    waits_until: float | None = None
    replicas: int | None = None

    @property
    def awaits(self) -> bool:
        """Whether it waits for others as its settings require, for as long as that takes."""
        return self.state == "starting" and all(unit.awaits for unit in self.units if unit.state == "starting")

    @property
    def since(self) -> float:
        """When the last of its units entered its state, in seconds since the epoch; 0 without units."""
        return max((unit.since for unit in self.units), default=0.0)

    @property
    def retry_at(self) -> float | None:
        """When the next restart of one of its units is due; None without one."""
        return min((unit.retry_at for unit in self.units if unit.retry_at is not None), default=None)

    @property
    def rows_in(self) -> int:
        """Rows read by all its units since the run started."""
        return sum(unit.rows_in for unit in self.units)

    @property
    def rows_out(self) -> Mapping[str, int]:
        """Rows written since the run started, by outlet."""
        return summed(unit.rows_out for unit in self.units)

    @property
    def dead_letters(self) -> int:
        """Rows that broke a contract since the run started."""
        return sum(unit.dead_letters for unit in self.units)

    @property
    def late(self) -> int:
        """Rows dropped by the watermark since the run started, at least; see `RowsLate`."""
        return sum(unit.late for unit in self.units)

    @property
    def pending_rows(self) -> int:
        """Rows in state after the last batches that will still be emitted."""
        return sum(unit.pending_rows for unit in self.units)

    @property
    def backlog(self) -> int | None:
        """Records of its inlets that it has not committed; None if unknown."""
        counts = [count for unit in self.units for count in unit.backlog.values()]
        return sum(counts) if counts else None

    def busy(self, now: float) -> float | None:
        """Return the share of the last minute that its busiest unit has spent in batches; None without batches."""
        return max((busy for unit in self.units if (busy := unit.busy(now)) is not None), default=None)

    @property
    def tasks(self) -> OpenTasks | None:
        """The tasks of a batch source; None for other streamlets."""
        return next((unit.tasks for unit in self.units if unit.tasks is not None), None)

    @property
    def running(self) -> RunningBatch | None:
        """The running batch that started first; None without one."""
        batches = [unit.running for unit in self.units if unit.running is not None]
        return min(batches, key=lambda batch: batch.since, default=None)

    @property
    def stuck(self) -> bool:
        """Whether a batch takes longer than `stuck-after`, or a unit without batches does not go on."""
        return self.hang is not None or any(unit.running is not None and unit.running.stuck for unit in self.units)

    @property
    def hang(self) -> Hang | None:
        """Where a unit without batches is stuck; None if none is."""
        return next((unit.hang for unit in self.units if unit.hang is not None), None)

    @property
    def restarts(self) -> int:
        """The number of restarts in this run."""
        return sum(unit.restarts for unit in self.units)

    def rate(self, now: float) -> float:
        """Rows per second."""
        return sum(unit.rate(now) for unit in self.units)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The status of a run. `sequence` counts the folded events: as long as it grows, the run is alive.

    Arguments:
        order: the names of the streamlets, producers first.
        ended: when the run ended, in seconds since the epoch; None while it goes on.
        reason: why the run was or is being stopped; empty without a request.
        stopping: whether the run is being drained, or stopped at once.
        without_spark: the streamlets whose Spark is being started.
        scaled: the requested numbers of replicas that differ from the blueprint, by streamlet.
        executors, fused: the executors of each Spark on a cluster, and the streamlets of each fused query.
    """

    application: str = ""
    started: float = 0.0
    order: tuple[str, ...] = ()
    units: Mapping[UnitId, UnitStatus] = field(default_factory=dict)
    sequence: int = 0
    updated: float = 0.0
    ended: float | None = None
    exit_code: int | None = None
    reason: str = ""
    stopping: Literal["", "draining", "stopping"] = ""
    without_spark: frozenset[str] = frozenset()
    scaled: Mapping[str, int] = field(default_factory=dict)
    executors: tuple[Executors, ...] = ()
    fused: tuple[tuple[str, ...], ...] = ()

    @property
    def streamlets(self) -> tuple[StreamletStatus, ...]:
        """All streamlets, producers first."""
        units: dict[str, list[UnitStatus]] = {}
        for unit in self.units.values():
            units.setdefault(unit.unit.streamlet, []).append(unit)
        return tuple(self._streamlet(ref, tuple(units.get(ref, ()))) for ref in self.order)

    @property
    def health(self) -> str:
        """The state of the run as a whole.

        `running`, `degraded` (a streamlet failed for good), `draining`, `stopping` (at once) or `ended`; `starting`,
        `backing-off` or `paused` while no streamlet is shown as running.
        """
        if self.ended is not None:
            return "ended"
        if self.stopping:
            return self.stopping
        if any(unit.state == "failed" for unit in self.units.values()):
            return "degraded"
        streamlets = {streamlet.state for streamlet in self.streamlets}
        if streamlets & UP:
            return "running"
        return next((state for state in ("starting", "backing-off", "paused") if state in streamlets), "running")

    def with_unit(self, unit: UnitStatus) -> RunStatus:
        """Return the status with a new or changed unit."""
        return replace(self, units={**self.units, unit.unit: unit})

    def streamlet(self, ref: str) -> StreamletStatus:
        """Return the status of a streamlet, which is `starting` as long as nothing is known about it."""
        return self._streamlet(ref, tuple(unit for unit in self.units.values() if unit.unit.streamlet == ref))

    def _streamlet(self, ref: str, units: tuple[UnitStatus, ...]) -> StreamletStatus:
        shown = min(units, key=lambda unit: _MOST_IMPORTANT.index(unit.state), default=None)
        state: State = shown.state if shown else "starting"
        without_spark = state == "starting" and ref in self.without_spark
        waiting = (shown.waiting if shown else "") or ("starting Spark" if without_spark else "")
        replicas = self.scaled.get(ref)
        if shown is None:
            return StreamletStatus(ref, state, "", units, waiting, replicas=replicas)
        times = shown.waits_since, shown.waits_until
        return StreamletStatus(ref, state, shown.cause, units, waiting, *times, replicas)


def _is_recent(time: float, now: float) -> bool:
    """Return whether a time is in the window of rates. The clock may have been set back; a second is tolerance."""
    return -1.0 <= now - time < RATE_WINDOW


def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counts, by name."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)
