"""A topic of the delta channel: a directory with a table for each writer's contract."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan, TopicPlan
from streamlets.channels.base import (
    METADATA,
    METADATA_DDL,
    Dropped,
    Lag,
    Missed,
    Position,
    Reader,
    Stretch,
    TopicLostError,
    TopicResource,
    TopicSummary,
    WrittenBatch,
)
from streamlets.channels.delta import finding, inspection
from streamlets.channels.delta import log as topic_log
from streamlets.channels.delta.append import DeltaAppender
from streamlets.channels.delta.clock_steps import ClockSteps
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.manifest import STAGED
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.ranges import TopicRange
from streamlets.channels.delta.records import read_slices, stretches
from streamlets.channels.delta.settings import READER, Retention, retention_of
from streamlets.channels.delta.traits import TRAITS
from streamlets.channels.replays import Replays
from streamlets.override import override
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from streamlets.channels.delta.compaction import Compaction
    from streamlets.channels.delta.retention import Drop
    from streamlets.channels.delta.table import Table


DELETED = "_deleted"
"""The directory of topics that are being deleted, below the directory of the channel."""


class DeltaTopic(TopicResource):
    """A topic, stored as a directory with a table for each writer's contract.

    Arguments:
        root: the directory of the channel.
        plan: the name and the settings of the topic.
        clock: returns the time in seconds since the epoch.
        timer: a clock that is never set, in seconds; default: `clock`.
    """

    traits = TRAITS

    def __init__(
        self, root: Path, plan: TopicPlan, clock: Callable[[], float], timer: Callable[[], float] | None = None
    ) -> None:
        self.plan = plan
        self.path = root / plan.name
        self._root = root
        self._clock = clock
        self._timer = timer or clock
        self._end_log: TopicLog | None = None  # knows only the end of the topic
        self._reader_logs: dict[str, TopicLog] = {}  # by reader, each from the position of its reader on
        self._maintenance_log: TopicLog | None = None  # maintenance runs in another thread
        self._steps: ClockSteps | None = None  # since the first maintenance

    @override
    def create(self, contracts: Iterable[Contract] = ()) -> None:
        """Create the directory of the topic. Tables are created with their first batch, when their columns are known.

        Raises:
            TopicLostError: the topic does not exist, and the plan says that the application does not manage it.
        """
        if self.plan.managed:
            topic_log.create_topic(self.path, self._clock)
        elif not self.path.is_dir():
            raise topic_log.not_found(self.path)
        else:
            topic_log.topic_id(self.path)

    @override
    def read(
        self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False, replicas: int | None = None
    ) -> DataFrame:
        from pyspark.sql.types import StructField, StructType, _parse_datatype_string

        from streamlets.channels.delta import native
        from streamlets.channels.delta.planning import Reading
        from streamlets.channels.delta.source import FORMAT
        from streamlets.contract.types import spark_schema
        from streamlets.planned import planners

        schema = spark_schema(inlet.contract)
        if metadata:
            schema = StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
        reading = Reading(
            topic=str(self.path),
            contract=inlet.contract.json,
            starting=inlet.settings.starting,
            max_records=inlet.settings.max_records or 0,
            cores=session.sparkContext.defaultParallelism,
            replicas=replicas or 0,
            metadata=metadata,
            inlet=f"{inlet.streamlet}.{inlet.name}",
            declared=_declared(inlet.contract),
        )
        if planners.is_ready(session) and READER.of(self.plan.options) == "auto" and native.can_read(reading):
            return planners.read(session, native.KIND, reading.to_json(), schema, name)
        reader = session.readStream.format(FORMAT).schema(schema).option("reading", reading.to_json())
        return (reader.name(name) if name else reader).load()

    @override
    def appender(
        self, contract: Contract, *, writer: str, epoch: int = 0, partition_by: tuple[str, ...] = ()
    ) -> DeltaAppender:
        return DeltaAppender(
            self.path, contract, writer=writer, epoch=epoch, partition_by=partition_by, clock=self._clock
        )

    @override
    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        start = Offset.from_position(after) if after is not None else None
        log = TopicLog(self.path, start)
        log.refresh()
        if start is not None:
            log.check(start)
        end = Offset.from_position(until) if until is not None else log.end()
        return read_slices(log.slices(start or log.begin(), end), reader, metadata=metadata)

    @override
    def stretches(self, after: Position | None, until: Position, contract: Contract | None) -> Iterator[Stretch]:
        start = Offset.from_position(after) if after is not None else None
        log = TopicLog(self.path, start)
        log.refresh()
        for offset in (start or log.begin(), end := Offset.from_position(until)):
            log.check(offset)
        return stretches(log, start or log.begin(), end)

    @override
    def position_at(self, time: float) -> Position:
        return self._known().at(round(time * 1000)).to_position()

    @override
    def time_before(self, position: Position) -> float | None:
        log = self._known()
        times = (piece.time for piece in log.slices(log.begin(), Offset.from_position(position)))
        last = max(times, default=None)
        return last / 1000 if last is not None else None

    @override
    def position_of(self, shown: str) -> Position:
        return finding.parsed(self._known(), shown).to_position()

    @override
    def deleted_since(self, start: float | Position) -> float | None:
        begin = Offset.from_position(start) if isinstance(start, Position) else round(start * 1000)
        return finding.deleted_since(self._known(), begin)

    @override
    def snapshot(self, directory: Path) -> None:
        from streamlets.channels.delta.snapshot import snapshot

        snapshot(self.path, directory)

    @override
    def limit(self, after: Position | None, until: Position) -> None:
        begin = Offset.from_position(after) if after is not None else None
        TopicRange(begin, Offset.from_position(until)).write(self.path)
        self._end_log, self._reader_logs = None, {}

    def _known(self) -> TopicLog:
        """Return a log with all commits."""
        log = TopicLog(self.path)
        log.refresh()
        return log

    @override
    def end(self) -> Position:
        log = self._log()
        end = log.end()
        log.forget(end)
        return end.to_position()

    @override
    def lag(self, at: Position | None, *, reader: str = "") -> Lag:
        log, start = self._follow(at, reader)
        end = log.end()
        oldest = next(log.slices(start, end), None)
        records = log.count(start, end) if oldest is not None else 0
        self._remember(log, start, reader)
        return Lag(records, max(0.0, self._clock() - oldest.time / 1000) if oldest is not None else 0.0)

    @override
    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        log, start = self._follow(after, reader)
        end = Offset.from_position(until)
        log.check(end)
        records = log.count(start, end)
        self._remember(log, start, reader)
        return records

    @override
    def written_by(self, after: Position | None, until: Position, most: int) -> tuple[WrittenBatch, ...]:
        start = Offset.from_position(after) if after is not None else None
        end = Offset.from_position(until)
        return inspection.written_by(self.path, start or Offset(end.topic), end, most)

    def _follow(self, at: Position | None, reader: str) -> tuple[TopicLog, Offset]:
        """Return a log that knows the commits after a position, if possible the one that its reader used before."""
        start = Offset.from_position(at) if at is not None else None
        log = self._reader_logs.pop(reader, None)
        if log is None or not log.covers(start):
            log = TopicLog(self.path, start)
        log.refresh()
        start = start or log.begin()
        log.check(start)
        return log, start

    def _remember(self, log: TopicLog, start: Offset, reader: str) -> None:
        if reader:
            log.forget(start)
            self._reader_logs[reader] = log

    @override
    def owns(self, position: Position) -> bool:
        try:
            return Offset.from_position(position).topic == topic_log.topic_id(self.path)
        except (TopicLostError, ValueError, KeyError, TypeError, AttributeError):
            return False

    @override
    def shown(self, position: Position) -> str:
        tables = Offset.from_position(position).tables
        places = (f"{name}/{place.version}#{place.number}" for name, (_, place) in tables.items())
        return ", ".join(places) or "the beginning"

    @override
    def maintain(self, readers: Callable[[], Iterable[Reader]] | None = None) -> Dropped:
        from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
        from streamlets.channels.delta.retention import expired

        retention = retention_of(self.plan.options)
        upkeep = Upkeep(compaction=_compaction(retention))
        if self._steps is None:
            self._steps = ClockSteps(self._clock, self._timer)
        maintain_topic(self.path, self._root / STAGED, self._clock, upkeep, readers, self._steps)
        if readers is None or not retention.limited:
            return Dropped()
        tables = self._tables()
        chosen = expired(tables, retention, self._steps.before)
        if not chosen:
            return Dropped()
        return self._drop(tables, readers(), force=not retention.keep_unread, cause="retention").carry_out(chosen)

    @override
    def purge(
        self,
        readers: Iterable[Reader],
        *,
        before: float | None = None,
        schema: str | None = None,
        force: bool = False,
        dry: bool = False,
    ) -> Dropped:
        from streamlets.channels.delta.retention import older, written_with

        tables = self._tables()
        tables = tables if schema is None else written_with(tables, schema)
        drop, chosen = self._drop(tables, readers, force=force, cause="flow topics purge"), older(tables, before)
        return drop.plan(chosen)[1] if dry else drop.carry_out(chosen)

    @override
    def sweep(self) -> None:
        from streamlets.channels.delta.maintenance import sweep

        for table in self._tables().values():
            now = self._clock() + 1.0  # also files that were removed in this second
            sweep(table.path, self._root / STAGED, removed=now, orphans=now - _ORPHANS)

    @override
    def delete(self) -> None:
        """Delete the directory. It is moved away first, so that a kill never leaves half of a topic."""
        deleted = self._root / DELETED
        deleted.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            self.path.rename(deleted / uuid.uuid4().hex)
        crash_point("during-topic-deletion")
        shutil.rmtree(deleted)

    @property
    @override
    def replays(self) -> Replays:
        return Replays(self.path / "_replays", topic_log.topic_id(self.path))

    @override
    def summary(self) -> TopicSummary:
        return inspection.summary(self.path)

    @override
    def contracts(self) -> tuple[Contract, ...]:
        return inspection.contracts(self.path)

    @override
    def last(self, count: int, *, metadata: bool = False) -> Iterator[pa.RecordBatch]:
        return inspection.last(self.path, count, metadata=metadata)

    @override
    def missed(self) -> Iterator[Missed]:
        from streamlets.channels.delta.missed import take_notes

        return take_notes(self.path, self._tables)

    def _drop(self, tables: Mapping[str, Table], readers: Iterable[Reader], *, force: bool, cause: str) -> Drop:
        from streamlets.channels.delta.retention import Drop

        return Drop(self.path, tables, tuple(readers), force=force, cause=cause, clock=self._clock)

    def _tables(self) -> Mapping[str, Table]:
        log, self._maintenance_log = self._maintenance_log or TopicLog(self.path), None
        log.refresh()
        self._maintenance_log = log  # not kept if refreshing it raised an error
        return log.tables

    def _log(self) -> TopicLog:
        if self._end_log is None:
            self._end_log = TopicLog(self.path)
        try:
            self._end_log.refresh()
        except TopicLostError:
            self._end_log = None
            raise
        return self._end_log


_ORPHANS = 86400.0


def _declared(contract: Contract) -> str:
    """Return where a schema is declared, as `file:line`; "" if that is not known."""
    spans = (contract.record.span, *(field.span for field in contract.record.fields))
    span = next((span for span in spans if span is not None and not span.file.startswith("<")), None)
    return f"{span.file}:{span.line}" if span is not None else ""


def _compaction(retention: Retention) -> Compaction:
    """Return a compaction whose files are small enough for retention, which drops whole files only."""
    from streamlets.channels.delta.compaction import Compaction

    default = Compaction()
    span = retention.time.seconds / _STEPS if retention.time else default.span
    goal = retention.size.bytes // _STEPS if retention.size else default.goal
    return replace(default, span=min(default.span, span), goal=min(default.goal, goal))


_STEPS = 10
