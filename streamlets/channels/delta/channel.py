"""The delta channel: topics as Delta tables below one folder."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan, OutletPlan, TopicPlan
from streamlets.channels.base import (
    BatchWritten,
    Branch,
    Dropped,
    Lag,
    Missed,
    Position,
    Reader,
    TopicLostError,
    TopicResource,
    Txn,
)
from streamlets.channels.delta import log as topic_log
from streamlets.channels.delta.append import append_batches
from streamlets.channels.delta.batch import BatchWriter, Target
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.manifest import STAGED, Manifests, writer_id
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.records import METADATA, METADATA_DDL, read_slices
from streamlets.channels.delta.replays import Replays
from streamlets.channels.delta.table import LOG, open_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.plan import Retention
    from streamlets.channels.delta.compaction import Compaction
    from streamlets.channels.delta.retention import Drop
    from streamlets.channels.delta.table import Table

_DRAINS = "_drains"


class DeltaChannel:
    """Topics as Delta tables.

    Arguments:
        root: the folder that holds a folder for each topic.
        clock: seconds since the epoch.
    """

    name = "delta"

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.root = root.absolute()
        self.clock = clock
        self._run = uuid.uuid4().hex[:12]  # flags of an earlier run must not stop this one

    def topic(self, plan: TopicPlan) -> DeltaTopic:
        """The resource of one topic."""
        if plan.name.startswith((".", "_")) or "/" in plan.name:
            raise ValueError(f"`{plan.name}` cannot name a topic of the delta channel: it would clash with folders")
        return DeltaTopic(self, plan)

    def prepare(self, session: SparkSession) -> None:
        """Make the session know the source; a child session does not inherit it."""
        from streamlets.channels.delta.source import TopicSource

        session.dataSource.register(TopicSource)

    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch, ...],
        dead_letters: TopicResource | None,
        *,
        query: str,
        streamlet: str,
        version: str = "",
        on_batch: Callable[[BatchWritten], None] | None = None,
    ) -> DataStreamWriter:
        """An unstarted writer; see `Channel.writer`."""
        batches = BatchWriter(
            root=self.root,
            targets=tuple(Target(_laid_out(b.outlet), b.rows, self._folder(b.topic)) for b in branches),
            dead_letters=self._folder(dead_letters) if dead_letters is not None else None,
            streamlet=streamlet,
            query=query,
            version=version,
            on_batch=on_batch,
            clock=self.clock,
        )
        return rows.writeStream.foreachBatch(batches)

    def drain(self, streamlet: str) -> None:
        """Let the streamlet's readers begin no further batch."""
        flag = self.drain_flag(streamlet)
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()

    def resume(self, streamlet: str) -> None:
        """Take `drain` back."""
        self.drain_flag(streamlet).unlink(missing_ok=True)

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Remove the manifests of a query that begins anew; see `Channel.forget`."""
        shutil.rmtree(self.root / STAGED / writer_id(streamlet, query, id), ignore_errors=True)

    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Whether there is a manifest or a transaction of the batch; see `Channel.may_have_written`."""
        writer = writer_id(streamlet, query, id)
        if Manifests(self.root / STAGED / writer).find(batch) is not None:
            return True
        tables = (path.parent.parent for path in self.root.glob(f"*/*/{LOG}/{0:020}.json"))
        return any(open_table(path, files=False).txns.get(writer, -1) >= batch for path in tables)

    def drain_flag(self, streamlet: str) -> Path:
        """The file whose presence drains a streamlet of this run."""
        return self.root / _DRAINS / f"{self._run}-{streamlet}"

    def _folder(self, topic: TopicResource) -> Path:
        if not isinstance(topic, DeltaTopic):
            raise TypeError(f"a query writes to one channel only; `{topic.plan.id}` is on `{topic.plan.channel}`")
        return topic.path


def _laid_out(outlet: OutletPlan) -> OutletPlan:
    """The outlet with the columns that lay out its files; expressions over them say nothing to a Delta table."""
    names = {field.name.lower(): field.name for field in outlet.contract.record.fields}
    columns = tuple(names[text.lower()] for text in outlet.partition_by if text.lower() in names)
    return replace(outlet, partition_by=columns)


class DeltaTopic:
    """One topic: a folder with a table for each writer's contract."""

    def __init__(self, channel: DeltaChannel, plan: TopicPlan) -> None:
        self.plan = plan
        self.path = channel.root / plan.name
        self._channel = channel
        self._clock = channel.clock
        self._known: TopicLog | None = None
        self._looked_after: TopicLog | None = None  # maintenance has a thread of its own, and so a log of its own

    def create(self, contracts: Iterable[Contract] = ()) -> None:
        """Make the topic's folder. Tables come with their first batch, when their layout is known.

        Raises:
            TopicLostError: the topic is not managed here, and whoever manages it has not made it.
        """
        if self.plan.managed:
            topic_log.create_topic(self.path, self._clock)
        else:
            topic_log.topic_id(self.path)

    def delete(self) -> None:
        """Delete the topic with all its records."""
        marker = self.path / topic_log.MARKER
        marker.unlink(missing_ok=True)  # first: half a topic is no topic
        shutil.rmtree(self.path, ignore_errors=True)
        self._known = self._looked_after = None

    def read(self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False) -> DataFrame:
        """A streaming DataFrame of the inlet's schema, its source called `name` ("" leaves it without a name)."""
        from pyspark.sql.types import StructField, StructType, _parse_datatype_string

        from streamlets.channels.delta.source import FORMAT, Reading
        from streamlets.contract.types import spark_schema

        schema = spark_schema(inlet.contract)
        if metadata:
            schema = StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
        reading = Reading(
            topic=str(self.path),
            contract=inlet.contract.json,
            drain=str(self._channel.drain_flag(inlet.streamlet)),
            starting=inlet.starting,
            max_records=inlet.max_records or 0,
            cores=session.sparkContext.defaultParallelism,
            metadata=metadata,
        )
        reader = session.readStream.format(FORMAT).schema(schema).options(**reading.to_options())
        return (reader.name(name) if name else reader).load()

    def append(self, rows: Iterable[pa.RecordBatch], contract: Contract, txn: Txn) -> Position:
        """Write records without Spark, in one commit; a `txn` already seen writes nothing, and `rows` is not asked."""
        append_batches(self.path, rows, contract, txn, self._clock)
        return self.end()

    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Records in commit order as the reader's schema has them (None: as written), without Spark."""
        start = Offset.from_position(after) if after is not None else None
        log = TopicLog(self.path, start)
        log.refresh()
        if start is not None:
            log.check(start)
        end = Offset.from_position(until) if until is not None else log.end()
        return read_slices(log.slices(start or Offset(log.id), end), reader, metadata=metadata)

    def end(self) -> Position:
        """Where the topic ends now."""
        return self._log().end().to_position()

    def lag(self, at: Position | None) -> Lag:
        """How much lies behind `at`: records, and how long the oldest of them has been there.

        Raises:
            TopicLostError: the topic is gone, or the position is another one's.
        """
        log = self._log()
        start = Offset.from_position(at) if at is not None else Offset(log.id)
        log.check(start)
        waiting = log.slices(start, log.end())
        if not waiting:
            return Lag(0, 0.0)
        return Lag(sum(piece.count for piece in waiting), max(0.0, self._clock() - waiting[0].time / 1000))

    def owns(self, position: Position) -> bool:
        """Whether a position is one of this topic."""
        try:
            return Offset.from_position(position).topic == topic_log.topic_id(self.path)
        except (TopicLostError, ValueError, KeyError, TypeError, AttributeError):
            return False

    def maintain(self, readers: Iterable[Reader] | None = None) -> Dropped:
        """Keep the logs short, merge small files, sweep what no log names (see `maintenance`), and drop what retention
        has no room for."""
        from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
        from streamlets.channels.delta.retention import expired

        retention = self.plan.retention
        maintain_topic(self.path, self._channel.root / STAGED, self._clock, Upkeep(compaction=_compaction(retention)))
        if readers is None or not retention.limited:
            return Dropped()
        tables = self._tables()
        chosen = expired(tables, retention, self._clock())
        if not chosen:
            return Dropped()
        return self._drop(tables, readers, force=not retention.keep_unread, cause="retention").carry_out(chosen)

    def purge(
        self, readers: Iterable[Reader], *, before: float | None = None, force: bool = False, dry: bool = False
    ) -> Dropped:
        """Drop whole files of records; see `TopicResource.purge`."""
        from streamlets.channels.delta.retention import older

        tables = self._tables()
        drop, chosen = self._drop(tables, readers, force=force, cause="flow topics purge"), older(tables, before)
        return drop.plan(chosen)[1] if dry else drop.carry_out(chosen)

    def sweep(self) -> None:
        """Delete the files that have left the log at once; only while nobody reads or writes the topic."""
        from streamlets.channels.delta.maintenance import sweep

        for table in self._tables().values():
            now = self._clock() + 1.0  # what left it this very moment, too
            sweep(table.path, self._channel.root / STAGED, removed=now, orphans=now - _ORPHANS)

    @property
    def replays(self) -> Replays:
        """What of the topic, one of dead letters, has been replayed."""
        return Replays(self.path)

    def missed(self) -> Iterator[Missed]:
        """What readers lost to drops; each is given once, and is taken as told when the next one is asked for."""
        from streamlets.channels.delta.missed import told

        return told(self.path, self._tables())

    def _drop(self, tables: Mapping[str, Table], readers: Iterable[Reader], *, force: bool, cause: str) -> Drop:
        from streamlets.channels.delta.retention import Drop

        return Drop(self.path, tables, tuple(readers), force=force, cause=cause, clock=self._clock)

    def _tables(self) -> Mapping[str, Table]:
        log, self._looked_after = self._looked_after or TopicLog(self.path), None
        log.refresh()
        self._looked_after = log  # one that raised is not kept
        return log.tables

    def _log(self) -> TopicLog:
        if self._known is None:
            self._known = TopicLog(self.path)
        try:
            self._known.refresh()
        except TopicLostError:
            self._known = None
            raise
        return self._known


_ORPHANS = 86400.0


def _compaction(retention: Retention) -> Compaction:
    """Files must not become so large that retention could only drop a good part of the topic at once."""
    from streamlets.channels.delta.compaction import Compaction

    chosen = Compaction()
    span = retention.time.seconds / _STEPS if retention.time else chosen.span
    goal = retention.size.bytes // _STEPS if retention.size else chosen.goal
    return replace(chosen, span=min(chosen.span, span), goal=min(chosen.goal, goal))


_STEPS = 10
