"""Everything that happens in a run, as events. Every view (terminal, status file, log) is a projection of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

State = Literal["starting", "running", "draining", "backing-off", "paused", "stopped", "completed", "failed"]

UP: frozenset[State] = frozenset({"running", "draining"})
"""The states of a unit that processes records. In `draining` it finishes its running batch, then it ends."""


@dataclass(frozen=True, slots=True)
class UnitId:
    """The id of a supervised unit.

    Arguments:
        streamlet: the name of the streamlet.
        part: the part of the streamlet, such as the name of a query; empty for the streamlet as a whole.
    """

    streamlet: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.streamlet}.{self.part}" if self.part else self.streamlet


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run started. `time` (here and below) is in seconds since the epoch."""

    time: float
    application: str
    streamlets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitChanged:
    """A unit entered a state.

    Arguments:
        cause: why, in one or several lines.
        frames: the frames of a failure in the user's code, outermost first.
        retry_in: seconds until the next restart.
        restarts: the restarts since the unit was last stable.
        waiting: with `starting`: what it waits for, such as `waiting for clicks`.
    """

    time: float
    unit: UnitId
    state: State
    cause: str = ""
    frames: tuple[str, ...] = ()
    _: KW_ONLY
    retry_in: float | None = None
    restarts: int = 0
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class UnitSplit:
    """From now on the parts of a unit are supervised in its place, each by itself; `parts` are their names."""

    time: float
    unit: UnitId
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkStarting:
    """A Spark is being started, which takes some seconds; `streamlets` wait for it."""

    time: float
    streamlets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkUp:
    """The Spark of these streamlets is up."""

    time: float
    streamlets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitProgressed:
    """A unit finished a batch, or another amount of work.

    Arguments:
        batch: the number of the batch; None if its work has no batches.
        rows_in: rows that it read.
        rows_out: rows that it wrote, by the name of the outlet or sink.
        dead_letters: rows that broke a contract.
        late: rows dropped by the watermark, at least; see `RowsLate`.
        backlog: records not yet read, by inlet, as far as known.
        pending_rows: rows in state (windows, joins) after the batch that will still be emitted.
        seconds: the duration of the batch.
        watermark: ISO time, if the query has one.
        state_rows: all rows in state after the batch, as Spark counts them.
    """

    time: float
    unit: UnitId
    batch: int | None
    rows_in: int
    rows_out: Mapping[str, int] = field(default_factory=dict)
    _: KW_ONLY
    dead_letters: int = 0
    late: int = 0
    backlog: Mapping[str, int] = field(default_factory=dict)
    pending_rows: int = 0
    seconds: float = 0.0
    watermark: str | None = None
    state_rows: int = 0

    @property
    def rows(self) -> int:
        """The rows that it read, or if it reads none, those that it wrote: the sign that the unit works."""
        return self.rows_in or sum(self.rows_out.values())


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
class UnitMeasured:
    """A measurement of a unit from outside, without its Spark, has changed.

    Arguments:
        backlog: records that it has not committed, by inlet; None if unknown. What a unit reports about anything else
            stays as it is.
        running: the running batch and its start; None without one.
        tasks: the tasks of a batch source; None leaves what is known of them as it is.
    """

    time: float
    unit: UnitId
    backlog: Mapping[str, int | None] = field(default_factory=dict)
    running: tuple[int, float] | None = None
    _: KW_ONLY
    tasks: OpenTasks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStuck:
    """A batch has been running for longer than `stuck-after`; reported once. It may still succeed.

    Arguments:
        since: when it started.
        seconds: how long it has been running.
        frames: the frames in the author's code, outermost first.
        stack: the frames of Spark, innermost first, if none of the author's code is running in this process.
    """

    time: float
    unit: UnitId
    batch: int
    since: float
    seconds: float
    frames: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowsInState:
    """Rows remain in the state of an operator when a bounded run is over.

    Arguments:
        operator: the operator, such as `aggregation` or `join (left side)`.
        rows: the number of rows in its state (of groups, for an aggregation).
        note: what they wait for, as far as known.
    """

    time: float
    unit: UnitId
    operator: str
    rows: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RowsLate:
    """A unit's watermark has dropped rows; reported once in a while, and for the last time when the run ends. Those of
    `RecordsLate` are not among them.

    Arguments:
        rows: the number of rows since the run started, at least. Spark counts what reaches the stateful operators,
            which are groups and not rows where an aggregation has summed up the rows of each task before.
        watermark: ISO time, if known.
    """

    time: float
    unit: UnitId
    rows: int
    watermark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsLate:
    """The deduplication of an inlet has dropped late records of a batch; reported before the batch.

    Arguments:
        inlet: the inlet; "" if the query has several deduplications.
        records: the number of records, of which some may be doubles of records that were read.
        watermark: ISO time; the records are older.
    """

    time: float
    unit: UnitId
    batch: int
    inlet: str
    records: int
    watermark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsMissed:
    """Records of a topic were dropped by a forced deletion before a reader had committed them.

    Arguments:
        topic: the name of the topic.
        reader: the reader that missed them, such as `average.averages (readings)`.
        first, last: the places of the first and the last record, as in `_meta`.
        records: the number of records.
        cause: what dropped them.
    """

    time: float
    topic: str
    reader: str
    first: str
    last: str
    records: int
    cause: str


@dataclass(frozen=True, slots=True)
class TopicDiffers:
    """A setting of a topic is not as the blueprint sets it; the run uses the topic as it is.

    Arguments:
        topic: the name of the topic.
        setting: the setting below the topic in the blueprint, such as `topic.partitions`.
        planned: its value in the blueprint.
        existing: the value of the topic; None if the topic cannot have the setting.
        help: what to do, in the imperative.
    """

    time: float
    topic: str
    setting: str
    planned: str
    existing: str | None
    help: str


@dataclass(frozen=True, slots=True)
class RunStopping:
    """The run is being stopped: on request, or because a drain takes too long.

    Arguments:
        cause: who or what stops it.
        at_once: whether running batches are aborted, to be replayed at the next start; otherwise they are finished.
        within: seconds after which they are aborted all the same; None for never.
    """

    time: float
    cause: str
    at_once: bool = False
    within: float | None = None


@dataclass(frozen=True, slots=True)
class CheckpointRepaired:
    """A damaged file of a unit's checkpoint was moved away before it started; `what` is which, and the effect."""

    time: float
    unit: UnitId
    what: str


@dataclass(frozen=True, slots=True)
class UnitWarned:
    """A unit works, but not quite as expected: `what` is the difference, or the step after its work that fails."""

    time: float
    unit: UnitId
    what: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over; see docs/exit-codes.md for `exit_code`."""

    time: float
    exit_code: int
    reason: str = ""


Event = (
    RunStarted
    | SparkStarting
    | SparkUp
    | UnitChanged
    | UnitSplit
    | UnitProgressed
    | UnitMeasured
    | BatchStuck
    | RowsInState
    | RowsLate
    | RecordsLate
    | RecordsMissed
    | TopicDiffers
    | CheckpointRepaired
    | UnitWarned
    | RunStopping
    | RunEnded
)
