"""The status of a run, folded from its events by a pure function: the same events give the same status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamlets.runner.events.model import (
    BatchStuck,
    Event,
    RunEnded,
    RunStarted,
    RunStopping,
    SparkStarting,
    SparkUp,
    State,
    UnitChanged,
    UnitId,
    UnitMeasured,
    UnitProgressed,
)

RATE_WINDOW = 15.0
"""Seconds over which rates are averaged."""

# The state of a streamlet with several queries is the first of these that one of its queries is in.
_MOST_IMPORTANT: tuple[State, ...] = ("failed", "backing-off", "starting", "running", "stopped", "completed")


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """The status of a unit; all times are in seconds since the epoch.

    Arguments:
        since: when it entered its state.
        restarts: the number of restarts in this run.
        retry_at: when the next restart is due.
        rows_in, rows_out, dead_letters, late: counts since the run started; rows_out by outlet.
        held, state_rows, batch, watermark, seconds: as of the last batch.
        backlog: records not committed, by inlet.
        running: the running batch and its start.
        stuck: the report of the running batch if it takes too long.
        recent: time and rows in of the last batches, as far back as `RATE_WINDOW`.
    """

    unit: UnitId
    state: State
    since: float
    cause: str = ""
    frames: tuple[str, ...] = ()
    restarts: int = 0
    retry_at: float | None = None
    rows_in: int = 0
    rows_out: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    late: int = 0
    held: int = 0
    state_rows: int = 0
    backlog: Mapping[str, int] = field(default_factory=dict)
    batch: int | None = None
    seconds: float = 0.0
    watermark: str | None = None
    recent: tuple[tuple[float, int], ...] = ()
    paused: bool = False
    running: tuple[int, float] | None = None
    stuck: BatchStuck | None = None
    waiting: str = ""

    def rate(self, now: float) -> float:
        """Rows in per second over the last `RATE_WINDOW` seconds."""
        recent = [(time, rows) for time, rows in self.recent if now - time < RATE_WINDOW]
        span = now - recent[0][0] + self.seconds if recent else 0.0  # shorter than the window soon after the start
        return sum(rows for _, rows in recent) / max(1.0, min(RATE_WINDOW, span))


@dataclass(frozen=True, slots=True)
class StreamletStatus:
    """The status of a streamlet: the sums over its units, and the most important of their states.

    Arguments:
        waiting: what it waits for while it is `starting`; empty if unknown.
    """

    ref: str
    state: State
    cause: str
    units: tuple[UnitStatus, ...]
    waiting: str = ""

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return any(unit.paused for unit in self.units)

    @property
    def rows_in(self) -> int:
        """Rows read by all its queries since the run started."""
        return sum(unit.rows_in for unit in self.units)

    @property
    def rows_out(self) -> Mapping[str, int]:
        """Rows written since the run started, by outlet."""
        return _summed(unit.rows_out for unit in self.units)

    @property
    def dead_letters(self) -> int:
        """Rows that broke a contract since the run started."""
        return sum(unit.dead_letters for unit in self.units)

    @property
    def late(self) -> int:
        """Rows dropped by the watermark since the run started, at least; see `RowsLate`."""
        return sum(unit.late for unit in self.units)

    @property
    def held(self) -> int:
        """Rows in state after the last batches."""
        return sum(unit.held for unit in self.units)

    @property
    def backlog(self) -> int | None:
        """Records of its inlets that it has not committed; None if unknown."""
        counts = [count for unit in self.units for count in unit.backlog.values()]
        return sum(counts) if counts else None

    @property
    def running(self) -> tuple[int, float] | None:
        """The running batch that started first, and its start; None without one."""
        batches = [unit.running for unit in self.units if unit.running is not None]
        return min(batches, key=lambda batch: batch[1], default=None)

    @property
    def stuck(self) -> bool:
        """Whether a batch takes longer than `stuck-after`."""
        return any(unit.stuck is not None for unit in self.units)

    @property
    def restarts(self) -> int:
        """The number of restarts in this run."""
        return sum(unit.restarts for unit in self.units)

    def rate(self, now: float) -> float:
        """Rows in per second."""
        return sum(unit.rate(now) for unit in self.units)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run. `sequence` counts the folded events: as long as it grows, the run is alive."""

    application: str = ""
    started: float = 0.0
    order: tuple[str, ...] = ()
    units: Mapping[UnitId, UnitStatus] = field(default_factory=dict)
    sequence: int = 0
    updated: float = 0.0
    ended: float | None = None
    exit_code: int | None = None
    reason: str = ""
    stopping: RunStopping | None = None
    without_spark: frozenset[str] = frozenset()

    @property
    def streamlets(self) -> tuple[StreamletStatus, ...]:
        """All streamlets, producers first."""
        return tuple(self._streamlet(ref) for ref in self.order)

    @property
    def health(self) -> str:
        """`running`, `degraded` (a streamlet failed for good while the others go on), `draining`, `stopping` (at once)
        or `ended`; `starting`, `backing-off` or `paused` while no query is running."""
        if self.ended is not None:
            return "ended"
        if self.stopping is not None:
            return "stopping" if self.stopping.at_once else "draining"
        states = {streamlet.state for streamlet in self.streamlets}
        if "failed" in states:
            return "degraded"
        if any(unit.state == "running" for unit in self.units.values()):
            return "running"
        waiting: tuple[State, ...] = ("starting", "backing-off")
        paused = any(streamlet.paused for streamlet in self.streamlets)
        return next((state for state in waiting if state in states), "paused" if paused else "running")

    def _streamlet(self, ref: str) -> StreamletStatus:
        units = tuple(unit for id, unit in self.units.items() if id.streamlet == ref)
        shown = min(units, key=lambda unit: _MOST_IMPORTANT.index(unit.state), default=None)
        state: State = shown.state if shown else "starting"
        waiting = shown.waiting if shown else ""
        if state == "starting" and ref in self.without_spark:
            waiting = waiting or "starting Spark"
        return StreamletStatus(ref, state, shown.cause if shown else "", units, waiting)


def fold(status: RunStatus, event: Event) -> RunStatus:
    """Return the status after another event."""
    status = replace(status, sequence=status.sequence + 1, updated=event.time)
    match event:
        case RunStarted(time, application, streamlets):
            return replace(status, application=application, started=time, order=streamlets)
        case RunEnded(time, exit_code, reason):
            return replace(status, ended=time, exit_code=exit_code, reason=reason)
        case RunStopping():
            return replace(status, stopping=event)
        case SparkStarting(streamlets=streamlets):
            return replace(status, without_spark=status.without_spark | set(streamlets))
        case SparkUp(streamlets=streamlets):
            return replace(status, without_spark=status.without_spark - set(streamlets))
        case UnitChanged(unit=id):
            units = dict(status.units)
            units[id] = _changed(units.get(id), event)
            if id.part:  # a streamlet as a whole is a unit only until its queries are known
                units.pop(UnitId(id.streamlet, ""), None)
            return replace(status, units=units)
        case UnitProgressed(unit=id) if id in status.units:
            return replace(status, units={**status.units, id: _progressed(status.units[id], event)})
        case UnitMeasured(unit=id) if id in status.units:
            return replace(status, units={**status.units, id: _measured(status.units[id], event)})
        case BatchStuck(unit=id) if id in status.units:
            unit = status.units[id]
            running = unit.running is not None and unit.running[0] == event.batch
            return replace(status, units={**status.units, id: replace(unit, stuck=event if running else None)})
    return status


def _changed(before: UnitStatus | None, event: UnitChanged) -> UnitStatus:
    unit = before or UnitStatus(event.unit, event.state, event.time)
    again = event.state == "starting" and unit.state == "backing-off"
    return replace(
        unit,
        state=event.state,
        since=unit.since if event.state == unit.state else event.time,
        cause=event.cause,
        frames=event.frames,
        restarts=unit.restarts + again,
        paused=event.paused,
        retry_at=None if event.retry_in is None else event.time + event.retry_in,
        running=unit.running if event.state == "running" else None,
        stuck=unit.stuck if event.state == "running" else None,
        recent=unit.recent if event.state == "running" else (),
        waiting=event.waiting,
    )


def _progressed(unit: UnitStatus, event: UnitProgressed) -> UnitStatus:
    recent = tuple((time, rows) for time, rows in unit.recent if event.time - time < RATE_WINDOW)
    return replace(
        unit,
        rows_in=unit.rows_in + event.rows_in,
        rows_out=_summed([unit.rows_out, event.rows_out]),
        dead_letters=unit.dead_letters + event.dead_letters,
        late=unit.late + event.late,
        held=event.held,
        state_rows=event.state_rows,
        backlog=event.backlog,
        batch=event.batch,
        seconds=event.seconds,
        watermark=event.watermark or unit.watermark,
        recent=(*recent, (event.time, event.rows_in)) if event.rows_in else recent,
        running=None if unit.running is None or unit.running[0] <= event.batch else unit.running,
        stuck=None if unit.stuck is None or unit.stuck.batch <= event.batch else unit.stuck,
    )


def _measured(unit: UnitStatus, event: UnitMeasured) -> UnitStatus:
    done = event.running is not None and unit.batch is not None and event.running[0] <= unit.batch
    running = None if done or unit.state != "running" else event.running
    stuck = unit.stuck if running is not None and unit.running == running else None
    return replace(unit, backlog=event.backlog, running=running, stuck=stuck)


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)


def to_json(status: RunStatus, now: float) -> dict[str, object]:
    """Return the status as data for the status file. The format is versioned, as readers may be of another release.

    Arguments:
        now: the current time, to which rates are computed.
    """
    return {
        "version": 1,
        "told": now,
        "application": status.application,
        "health": status.health,
        "started": status.started,
        "updated": status.updated,
        "sequence": status.sequence,
        "ended": status.ended,
        "exit_code": status.exit_code,
        "reason": status.reason or (status.stopping.cause if status.stopping else ""),
        "streamlets": [
            {
                "ref": streamlet.ref,
                "state": streamlet.state,
                "cause": streamlet.cause,
                "waiting": streamlet.waiting,
                "paused": streamlet.paused,
                "units": [_unit_json(unit, now) for unit in streamlet.units],
            }
            for streamlet in status.streamlets
        ],
    }


def _running_json(unit: UnitStatus, now: float) -> dict[str, object] | None:
    if unit.running is None:
        return None
    number, since = unit.running
    where = list(unit.stuck.frames or unit.stuck.stack) if unit.stuck is not None else []
    return {
        "number": number,
        "since": since,
        "seconds": round(max(0.0, now - since), 1),
        "stuck": unit.stuck is not None,
        "where": where,
    }


def _unit_json(unit: UnitStatus, now: float) -> dict[str, object]:
    return {
        "query": unit.unit.part,
        "state": unit.state,
        "paused": unit.paused,
        "since": unit.since,
        "cause": unit.cause,
        "frames": list(unit.frames),
        "restarts": unit.restarts,
        "retry_at": unit.retry_at,
        "rows_in": unit.rows_in,
        "rows_out": dict(unit.rows_out),
        "dead_letters": unit.dead_letters,
        "late": unit.late,
        "held": unit.held,
        "state_rows": unit.state_rows,
        "backlog": dict(unit.backlog),
        "batch": unit.batch,
        "batch_seconds": unit.seconds,
        "running_batch": _running_json(unit, now),
        "watermark": unit.watermark,
        "rate": round(unit.rate(now), 1),
    }
