"""A topic of the Kafka channel."""

from __future__ import annotations

import copy
import datetime
import itertools
import json
import math
import shutil
import threading
import time
import zlib
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.comparison.stateful_operators import DEDUPLICATION
from blueprint.plan import InletPlan, TopicPlan
from streamlets.channels.base import (
    Difference,
    Dropped,
    InvalidRecord,
    Lag,
    Missed,
    Position,
    Reader,
    Stretch,
    TopicLostError,
    TopicResource,
    TopicSummary,
    WriterSummary,
)
from streamlets.channels.kafka.appender import KafkaAppender
from streamlets.channels.kafka.cluster_client import ranges
from streamlets.channels.kafka.clusters import ClusterState, ClusterTopic
from streamlets.channels.kafka.comparison import CONFIG, PARTITIONS, differences
from streamlets.channels.kafka.deduplication import Deduplication, deduplicated
from streamlets.channels.kafka.horizon import StoredHorizon
from streamlets.channels.kafka.identity import Identity
from streamlets.channels.kafka.internal_names import claim, is_writer, require_own
from streamlets.channels.kafka.offsets import Offsets
from streamlets.channels.kafka.records import read_messages, stretches
from streamlets.channels.kafka.remembered import remember
from streamlets.channels.kafka.topic_settings import TopicSettings
from streamlets.channels.kafka.traits import TRAITS
from streamlets.channels.records import conversion
from streamlets.channels.replays import Replays
from streamlets.channels.unreadable import UnreadableRecordsError
from streamlets.contract.values import RecordError
from streamlets.contract.wire.errors import TOMBSTONE, UndecodableError, WireError
from streamlets.override import override

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message
    from pyspark.sql import DataFrame, SparkSession


_EXACT = 10_000
_HORIZONS = threading.Lock()  # horizons are files, which sources and their dead letters replace


class KafkaTopic(TopicResource):
    """A topic of a Kafka cluster.

    Numbers of records are computed from offsets, which also count the marks of transactions and the records that
    compaction has removed. Up to 10,000 offsets are read and counted, unless the numbers are for a reader, which needs
    them after every batch, and the topic has no marks.

    Arguments:
        plan: the name and the settings of the topic.
        state: what is known of its cluster.
        directory: the directory of the topic in the state directory.
        inlets: the directory of what is stored for inlets in the state directory.
        clock: returns the time in seconds since the epoch.
        application: the name of the application; "" for none.
        internal: whether the application has the topic for itself.
    """

    traits = TRAITS

    def __init__(
        self,
        plan: TopicPlan,
        state: ClusterState,
        directory: Path,
        inlets: Path,
        clock: Callable[[], float] = time.time,
        *,
        application: str = "",
        internal: bool = False,
    ) -> None:
        self.plan = plan
        self._owner = application if internal else ""
        self.stored = ClusterTopic(plan.name, TopicSettings.of(plan), state)
        self.settings = self.stored.settings
        self.state = state
        self.cluster = state.cluster
        self._identity = Identity(directory / "topic.json", application)
        self._directory = directory
        self._inlets = inlets
        self._clock = clock
        self._missed: dict[str, Missed] = {}
        self._reported: dict[tuple[str, int], int] = {}  # the end of the last loss, by reader and partition
        self._wire = state.wire(plan.name, self.settings)
        self.schema: Contract | None = None
        self.invalid_shown: Callable[[str], None] | None = None

    @property
    def name(self) -> str:
        """The name of the topic on the cluster."""
        return self.plan.name

    @override
    def create(self, contracts: Iterable[Contract] = ()) -> None:
        """Create the topic if it does not exist and is managed, and publish the schemas of its writers.

        Raises:
            TopicLostError: the topic does not exist and is not managed, or it was created again since this application
                first used it.
            SchemaConflictError: messages of two writers could not be told apart.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self.require_own(claiming=True)
        if self.plan.managed:
            settings = self.settings
            self.cluster.create(self.name, settings.partitions or -1, settings.replicas or -1, settings.config)
        self.require()
        remember(self.plan, self._directory)
        self.publish(contracts)

    def require_own(self, *, claiming: bool = False) -> None:
        """Raise an error if another application has the topic for itself.

        Arguments:
            claiming: whether to take it for this application if none has.

        Raises:
            ForeignTopicError: another application has it.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        if self._owner:
            (claim if claiming else require_own)(self.state.writers, self.name, self._owner)

    def publish(self, contracts: Iterable[Contract]) -> None:
        """Publish the schemas of writers, if messages name them by fingerprints.

        Raises:
            SchemaConflictError: messages of two writers could not be told apart.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        if self.settings.format == "avro":
            self.state.schemas.publish(self.name, contracts)

    def require(self) -> None:
        """Raise an error if the topic does not exist, or is not the one that this application first used.

        Raises:
            TopicLostError: it was deleted, or created again.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self._identity.check(self.name, self.cluster.existing(self.name).id)
        self.require_own()

    @override
    def exists(self) -> bool:
        try:
            self.cluster.existing(self.name)
        except TopicLostError:
            return False
        return True

    @override
    def differences(self) -> tuple[Difference, ...]:
        existing = self.cluster.existing(self.name)
        self._identity.check(self.name, existing.id)
        if not self.plan.managed:  # the layout of its cluster's settings is that of topics to create
            return ()
        config = self.cluster.settings(self.name) if self.settings.config else {}
        return tuple(differences(self.settings, existing, config))

    @override
    def alter(self, differences: Iterable[Difference]) -> None:
        planned = {difference.setting: difference.planned for difference in differences}
        if partitions := planned.pop(PARTITIONS, None):
            self.cluster.add_partitions(self.name, int(partitions))
        if planned:
            config = {setting.removeprefix(CONFIG): value for setting, value in planned.items()}
            self.cluster.alter_settings(self.name, config)
        remember(self.plan, self._directory)

    @override
    def delete(self) -> None:
        """Delete the topic with its records and schemas, and what this application knows of it.

        Raises:
            TopicLostError: it is not the topic that this application first used.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        if self.exists():
            self.require()
            self.cluster.delete(self.name)
        self.state.schemas.remove(self.name)
        shutil.rmtree(self._directory)

    @override
    def read(self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False) -> DataFrame:
        """Return a streaming DataFrame of the records.

        Raises:
            TopicLostError: the topic does not exist, or is not the one that this application first used.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        from streamlets.channels.kafka.source import headers_of, read_topic

        self.require()  # Spark would fail again and again without naming the topic
        horizon = None
        if inlet.on_invalid == "dead-letters":
            stored, ends = self._horizon(inlet), self.cluster.latest(self.name)
            headers = [header.hex() for header in headers_of(self.stored)]
            with _HORIZONS:
                horizon = stored.read().advanced(headers, ends)
                stored.write(horizon)
        deduplication = Deduplication.of(inlet.options)
        metadata_needed = metadata or deduplication is not None
        rows = read_topic(self.stored, session, inlet, name=name, metadata=metadata_needed, horizon=horizon)
        return rows if deduplication is None else deduplicated(rows, deduplication, metadata=metadata)

    @property
    @override
    def fails_on_loss(self) -> bool:
        return self.settings.on_data_loss == "fail"

    @override
    def lost(self, reader: Reader) -> tuple[Missed, ...]:
        """Return what a reader has lost to retention.

        Raises:
            TopicLostError: the topic was deleted, or created again, or it ends before the position.
        """
        self.require()
        latest = self.cluster.latest(self.name)
        for number, at in sorted(self._committed(reader).items()):
            if at > latest.get(number, 0):
                raise TopicLostError(
                    f"partition {number} of the topic `{self.name}` ends at offset {latest.get(number, 0)}, but "
                    f"{reader.name} has read it up to offset {at}: the cluster has lost records"
                )
        return tuple(self._overtaken(reader, self.cluster.earliest(self.name)))

    @override
    def skipped(self, reader: Reader, until: Position, records: int) -> tuple[Missed, ...]:
        """Return what a batch has skipped because it was deleted.

        The offsets are those that no longer exist; the batch may have read some of them before they were deleted. What
        was reported before is omitted: several batches may pass over the offsets of one loss.
        Marks of transactions count as unread, so a loss may be reported where only read records were deleted.
        """
        parts = ranges(self._committed(reader), self._offsets(until).partitions)
        offsets = _records(parts)
        executions = max(1, math.ceil(records / offsets)) if offsets else 1
        unread = offsets - records // executions
        if unread <= 0:
            return ()
        earliest = self.cluster.earliest(self.name)
        reported = {n: self._reported.get((reader.name, n), 0) for n in parts}
        deleted = {n: (max(at, reported[n]), min(end, earliest.get(n, 0))) for n, (at, end) in parts.items()}
        return tuple(
            self._missed_of(reader, number, start, end, "retention", records=min(unread, end - start))
            for number, start, end in self._parts(deleted)
            if start < end
        )

    @override
    def late_operator(self, inlet: InletPlan) -> str | None:
        return DEDUPLICATION.name if Deduplication.of(inlet.options) is not None else None

    @override
    def invalid_count(self, inlet: InletPlan, observed: Mapping[str, Mapping[str, Any]]) -> int:
        from streamlets.channels.kafka.source import invalid_count

        return invalid_count(inlet, observed)

    @override
    def invalid(
        self, session: SparkSession, inlet: InletPlan, after: Position | None, until: Position, *, at_once: int = 1000
    ) -> Iterator[tuple[list[InvalidRecord], Position]]:
        from streamlets.channels.kafka.source import invalid_messages

        end = self._offsets(until).partitions
        reached = {number: min(at, end.get(number, 0)) for number, at in self._start(after).items()}
        stored = self._horizon(inlet)
        horizon = stored.read()
        records: list[InvalidRecord] = []
        unknown: set[str] = set()
        for row in invalid_messages(self.stored, session, inlet, ranges(reached, end), horizon):
            if len(records) == at_once:
                yield records, Offsets(self.name, reached).to_position()
                records = []
            records.append(InvalidRecord(f"{self.name}/{row.partition}/{row.offset}", _json(row), row.reason))
            reached = reached | {row.partition: row.offset + 1}
            unknown |= {row.header} if row.header is not None else set()
        if unknown:
            self._store_unknown(stored, unknown)
        yield records, Offsets(self.name, reached | dict(end)).to_position()

    @override
    def decoded(self, content: str, contract: Contract) -> dict[str, Any]:
        value = json.loads(content)["value"]
        try:
            if value is None:
                raise UndecodableError(TOMBSTONE)
            record = self._wire(contract).decode(b64decode(value))
            rows = self._wire(contract).rows(record.contract, [record.value])
            row: dict[str, Any] = conversion(record.contract, contract)(rows).to_pylist()[0]
        except (WireError, UnreadableRecordsError) as error:
            raise RecordError(str(error)) from None
        return row

    @override
    def furthest(self, first: Position, second: Position) -> Position:
        one, other = self._offsets(first).partitions, self._offsets(second).partitions
        return Offsets(self.name, {n: max(one.get(n, 0), other.get(n, 0)) for n in {*one, *other}}).to_position()

    def _horizon(self, inlet: InletPlan) -> StoredHorizon:
        return StoredHorizon(self._inlets / inlet.streamlet / f"{inlet.name}.json", self.cluster.existing(self.name).id)

    def _store_unknown(self, stored: StoredHorizon, headers: Iterable[str]) -> None:
        """Store the headers of dead letters, so that later messages with them do not stop the query."""
        with _HORIZONS:
            earlier = stored.read()
            later = earlier.with_unknown(headers)
            if later != earlier:
                stored.write(later)

    @override
    def appender(
        self, contract: Contract, *, writer: str, epoch: int = 0, partition_by: tuple[str, ...] = ()
    ) -> KafkaAppender:
        return self._appender(contract, writer=writer, epoch=epoch, partition_by=partition_by)

    def _appender(
        self,
        contract: Contract,
        *,
        writer: str,
        epoch: int = 0,
        partition_by: tuple[str, ...],
        partition: int | None = None,
    ) -> KafkaAppender:
        self.require()
        self.publish([contract])
        return KafkaAppender(
            self.cluster,
            self.state.writers,
            self.name,
            contract,
            self._wire(contract),
            writer=f"{self._identity.writers}{writer}",
            epoch=epoch,
            partition_by=partition_by,
            partition=partition,
            require=self.require,
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
        self.require_own()
        start = self._offsets(after).partitions if after is not None else self.cluster.earliest(self.name)
        end = self._offsets(until).partitions if until is not None else self.cluster.latest(self.name)
        return self._read(self._messages(ranges(start, end)), reader, metadata=metadata)

    @override
    def stretches(self, after: Position | None, until: Position, contract: Contract | None) -> Iterator[Stretch]:
        start = Offsets(self.name, self._start(after))
        parts = ranges(start.partitions, self._offsets(until).partitions)
        return stretches(self._messages(parts), self._wire(contract), start)

    @override
    def ordered_appender(self, contract: Contract, *, writer: str, partition_by: tuple[str, ...] = ()) -> KafkaAppender:
        """Open the topic for appending. Without columns that partition the
        records, those of a contract are in one partition."""
        partitions = self.cluster.existing(self.name).partitions
        partition = zlib.crc32(contract.fingerprint.encode()) % partitions if not partition_by else None
        return self._appender(contract, writer=writer, partition_by=partition_by, partition=partition)

    @override
    def end(self) -> Position:
        return Offsets(self.name, self.cluster.latest(self.name)).to_position()

    @override
    def lag(self, at: Position | None, *, reader: str = "") -> Lag:
        start = self._start(at)
        end = self.cluster.latest(self.name)
        records = _records(ranges(start, end))
        if not records:
            return Lag(0, 0.0)
        if records > _EXACT or (reader and not self._has_marks()):
            return Lag(records)
        messages = self._messages(ranges(start, end))
        oldest = next(messages, None)
        if oldest is None:
            return Lag(0, 0.0)
        age = max(0.0, self._clock() - oldest.timestamp()[1] / 1000)
        return Lag(1 + sum(1 for _ in messages), age)

    @override
    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        parts = ranges(self._start(after), self._offsets(until).partitions)
        return self._count(parts) if not reader or self._has_marks() else _records(parts)

    @override
    def owns(self, position: Position) -> bool:
        try:
            return Offsets.from_position(position).topic == self.name
        except ValueError:
            return False

    @override
    def shown(self, position: Position) -> str:
        partitions = Offsets.from_position(position).partitions
        return ", ".join(f"{number}: {at}" for number, at in sorted(partitions.items())) or "the beginning"

    @override
    def maintain(self, readers: Callable[[], Iterable[Reader]] | None = None) -> Dropped:
        if readers is not None:
            earliest = self.cluster.earliest(self.name)
            for reader in readers():
                self._note_missed(reader, earliest)
        return Dropped()

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
        """Delete the oldest records of each partition.

        Raises:
            ValueError: `schema` is given. Kafka deletes only the oldest records of a partition.
            TopicLostError: the topic does not exist.
        """
        if schema is not None:
            raise ValueError("Kafka deletes only the oldest records of a partition, not those of a schema")
        start, end = self.cluster.earliest(self.name), self.cluster.latest(self.name)
        if before is not None:
            first = self.cluster.at(self.name, before)
            end = {number: first[number] if first[number] >= 0 else at for number, at in end.items()}
        held: dict[str, int] = {}
        kept = dict(end)
        missed = []
        for reader in readers:
            committed = self._committed(reader)
            unread = ranges({number: max(committed.get(number, 0), first) for number, first in start.items()}, end)
            if not unread:
                continue
            if force:
                missed += [self._missed_of(reader, *part, "flow topics purge") for part in self._parts(unread)]
            else:
                held[reader.name] = self._count(unread)
                kept = {number: min(at, unread[number][0]) if number in unread else at for number, at in kept.items()}
        dropped = self._count(ranges(start, kept))
        if not dry and dropped:
            self.cluster.delete_records(self.name, kept)
            self._missed |= {_key(entry): entry for entry in missed}
        return Dropped(records=dropped, held=held, missed=tuple(missed))

    @override
    def sweep(self) -> None:
        """Do nothing: the cluster frees the storage of deleted records."""

    @override
    def missed(self) -> Iterator[Missed]:
        for key in list(self._missed):
            yield self._missed[key]
            del self._missed[key]

    @override
    def summary(self) -> TopicSummary:
        parts = ranges(self.cluster.earliest(self.name), self.cluster.latest(self.name))
        newest = max((message.timestamp()[1] / 1000 for message in self._newest(1)), default=None)
        writers = tuple(
            WriterSummary(contract.record.name, contract.fingerprint, (), None, None, None)
            for contract in self._published()
        )
        return TopicSummary(self.name, self._count(parts), None, newest, writers)

    @override
    def contracts(self) -> tuple[Contract, ...]:
        parts = ranges(self.cluster.earliest(self.name), self.cluster.latest(self.name))
        return self._published() if parts else ()

    @override
    def last(self, count: int) -> Iterator[pa.RecordBatch]:
        self.require_own()
        return self._read(self._newest(count), None)

    @override
    def shown_with(self, schema: Contract | None, invalid: Callable[[str], None]) -> KafkaTopic:
        self._wire(schema)  # raises if the messages do not name their schema, and it is not known
        shown = copy.copy(self)
        shown.schema, shown.invalid_shown = schema, invalid
        return shown

    @property
    @override
    def replays(self) -> Replays:
        self._directory.mkdir(parents=True, exist_ok=True)
        return Replays(self._directory / "replays", self.cluster.existing(self.name).id)

    @override
    def committed(self, group: str, position: Position) -> None:
        """Commit a reader's position to its consumer group, where Kafka's tools see it.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self.cluster.commit(group, self.name, Offsets.from_position(position).partitions)

    def _read(
        self, messages: Iterable[Message], reader: Contract | None, *, metadata: bool = False
    ) -> Iterator[pa.RecordBatch]:
        wire = self._wire(reader or self.schema)
        invalid = self.invalid_shown if reader is None else None
        return read_messages(messages, wire, reader, topic=self.name, metadata=metadata, invalid=invalid)

    def _messages(self, parts: Mapping[int, tuple[int, int]]) -> Iterator[Message]:
        """Yield the messages of ranges of offsets, without tombstones that are to be skipped."""
        messages = self.cluster.messages(self.name, parts)
        if self.settings.tombstones == "skip":
            return (message for message in messages if message.value() is not None)
        return messages

    def _newest(self, count: int) -> Iterable[Message]:
        """Return the last messages. Offsets without a message, such as marks of transactions, widen the search."""
        first, end = self.cluster.earliest(self.name), self.cluster.latest(self.name)
        width = count + len(end)
        while True:
            start = {number: max(first[number], at - width) for number, at in end.items()}
            found = deque(self._messages(ranges(start, end)), maxlen=count)
            if len(found) == count or start == first:
                return found
            width *= 4

    def _published(self) -> tuple[Contract, ...]:
        contracts = self.state.contracts(self.name, self.settings)
        return tuple(sorted(contracts, key=lambda contract: contract.fingerprint))

    def _start(self, at: Position | None) -> Mapping[int, int]:
        return self._offsets(at).partitions if at is not None else self.cluster.earliest(self.name)

    def _offsets(self, position: Position) -> Offsets:
        try:
            offsets = Offsets.from_position(position)
        except ValueError as error:
            raise TopicLostError(str(error)) from None
        if offsets.topic != self.name:
            raise TopicLostError(f"the position is one in the topic `{offsets.topic}`, not in `{self.name}`")
        return offsets

    def _has_marks(self) -> bool:
        """Return whether the topic may have marks of transactions, because it was written without Spark."""
        return any(is_writer(key, self.name) for key in self.state.writers.refreshed())

    def _count(self, parts: Mapping[int, tuple[int, int]]) -> int:
        records = _records(parts)
        if not 0 < records <= _EXACT:
            return records
        return sum(1 for _ in self._messages(parts))

    def _committed(self, reader: Reader) -> Mapping[int, int]:
        return self._offsets(reader.committed).partitions if reader.committed is not None else {}

    def _note_missed(self, reader: Reader, earliest: Mapping[int, int]) -> None:
        for missed in self._overtaken(reader, earliest):
            self._missed.setdefault(_key(missed), missed)

    def _overtaken(self, reader: Reader, earliest: Mapping[int, int]) -> Iterator[Missed]:
        """Yield the records that were deleted before a reader has committed them, by partition."""
        lost = {n: (at, earliest[n]) for n, at in self._committed(reader).items() if at < earliest.get(n, 0)}
        for part in self._parts(lost):
            yield self._missed_of(reader, *part, "retention")

    def _missed_of(
        self, reader: Reader, partition: int, start: int, end: int, cause: str, records: int | None = None
    ) -> Missed:
        first, last = f"partition {partition}, offset {start}", f"partition {partition}, offset {end - 1}"
        if records is None:
            try:
                records = self._count({partition: (start, end)})
            except TopicLostError:  # the cluster has deleted them
                records = end - start
        self._reported[reader.name, partition] = end
        return Missed(
            topic=self.name,
            reader=reader.name,
            first=first,
            last=last,
            records=records,
            time=self._clock(),
            cause=cause,
        )

    @staticmethod
    def _parts(parts: Mapping[int, tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        return ((number, *range_) for number, range_ in sorted(parts.items()))


def _json(row: Any) -> str:
    """Return a message as JSON, its bytes in base64."""
    content = {
        "timestamp": row.timestamp.astimezone(datetime.UTC).isoformat(),
        "key": _base64(row.key),
        "value": _base64(row.value),
        "headers": [[header.key, _base64(header.value)] for header in row.headers or ()],
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _base64(data: bytes | None) -> str | None:
    return b64encode(data).decode() if data is not None else None


def _key(missed: Missed) -> str:
    return f"{missed.reader} {missed.first}"


def _records(parts: Mapping[int, tuple[int, int]]) -> int:
    return sum(itertools.starmap(lambda start, end: end - start, parts.values()))
