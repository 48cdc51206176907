"""Everything that happens in a run, as events. Every view (terminal, status file, log) is a projection of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["starting", "running", "backing-off", "stopped", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class UnitId:
    """What is supervised: a query of a streamlet, or (query empty) a streamlet as a whole."""

    streamlet: str
    query: str

    def __str__(self) -> str:
        return f"{self.streamlet}.{self.query}" if self.query else self.streamlet


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run began. `time` (here and below) is seconds since the epoch."""

    time: float
    application: str
    streamlets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitChanged:
    """A unit entered a state; `cause` says why, in one line or several, `frames` are the user's, `retry_in` is seconds.

    `waiting` goes with `starting`: what it waits for, such as `waiting for clicks`.
    `paused` goes with `stopped`: it stays down until somebody resumes it, and is no reason for the run to end.
    """

    time: float
    unit: UnitId
    state: State
    cause: str = ""
    frames: tuple[str, ...] = ()
    retry_in: float | None = None
    restarts: int = 0
    paused: bool = False
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class SparkStarting:
    """A Spark is being started, which takes a while; `streamlets` wait for it."""

    time: float
    streamlets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkUp:
    """The Spark of these streamlets is up."""

    time: float
    streamlets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitProgressed:
    """A unit finished a batch.

    Arguments:
        rows_in, rows_out: of this batch; rows_out by outlet (or sink) name.
        dead_letters: rows of this batch that broke a contract.
        late: rows dropped by the watermark, at least; see `RowsLate`.
        backlog: records not yet read, by inlet, where known.
        held: rows held back in state (windows, joins) after this batch, which are still to come out.
        seconds: how long the batch took.
        watermark: ISO time, where the query has one.
        state_rows: all rows of state after this batch, as Spark counts them.
    """

    time: float
    unit: UnitId
    batch: int
    rows_in: int
    rows_out: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    late: int = 0
    backlog: Mapping[str, int] = field(default_factory=dict)
    held: int = 0
    seconds: float = 0.0
    watermark: str | None = None
    state_rows: int = 0


@dataclass(frozen=True, slots=True)
class UnitMeasured:
    """What is known of a unit from outside, without its Spark: reported when it has changed.

    Arguments:
        backlog: records that it has not committed, by inlet.
        running: the batch that is running, and since when; None when none is.
    """

    time: float
    unit: UnitId
    backlog: Mapping[str, int] = field(default_factory=dict)
    running: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class BatchStuck:
    """A batch has been running for longer than `stuck-after`: reported once. It may still end well.

    Arguments:
        since: when it began; seconds: how long ago that is.
        frames: places in the author's code where it is, outermost first.
        stack: where Spark is, innermost first, when no code of the author's is running in this process.
    """

    time: float
    unit: UnitId
    batch: int
    since: float
    seconds: float
    frames: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitHeld:
    """What an operator of a unit still holds back when a bounded run is over: told once for each that holds rows.

    Arguments:
        operator: what holds them, such as `aggregation` or `join (left side)`.
        rows: how many rows (groups, for an aggregation) its state has.
        note: what they wait for, as far as it can be told.
    """

    time: float
    unit: UnitId
    operator: str
    rows: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RowsLate:
    """A unit's watermark has dropped rows: reported once in a while, and for the last time when the run ends.

    Arguments:
        rows: how many since the run began, at least: Spark counts what reaches the stateful operators, which is groups
            and no longer rows where an aggregation has summed up each task's rows before.
        watermark: ISO time, where it is known.
    """

    time: float
    unit: UnitId
    rows: int
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class RecordsMissed:
    """Records of a topic were dropped before a reader had committed them, because somebody forced it.

    Arguments:
        topic: the topic's name; reader: whose the records were, such as `average.averages (readings)`.
        first, last: places of the first and the last of them, as `_meta` gives them.
        records: how many; cause: what dropped them.
    """

    time: float
    topic: str
    reader: str
    first: str
    last: str
    records: int
    cause: str


@dataclass(frozen=True, slots=True)
class RunStopping:
    """The end was asked for, or it takes too long.

    Arguments:
        cause: who or what wants it.
        at_once: whether running batches are given up, to be replayed at the next start; else they are finished.
        within: seconds after which they are given up all the same; None when they are waited for however long it takes.
    """

    time: float
    cause: str
    at_once: bool = False
    within: float | None = None


@dataclass(frozen=True, slots=True)
class CheckpointRepaired:
    """Damaged files of a unit's checkpoint were put aside before it started; `what` says which, and what follows."""

    time: float
    unit: UnitId
    what: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over; `exit_code` as documented."""

    time: float
    exit_code: int
    reason: str = ""


Event = (
    RunStarted
    | SparkStarting
    | SparkUp
    | UnitChanged
    | UnitProgressed
    | UnitMeasured
    | BatchStuck
    | UnitHeld
    | RowsLate
    | RecordsMissed
    | CheckpointRepaired
    | RunStopping
    | RunEnded
)
