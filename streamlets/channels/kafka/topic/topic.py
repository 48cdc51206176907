"""`KafkaTopic`: a topic with its records."""

from __future__ import annotations

import copy
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.comparison.stateful_operators import DEDUPLICATION
from blueprint.plan import InletPlan, TopicPlan
from streamlets.channels.base import (
    Dropped,
    InvalidRecord,
    Lag,
    Missed,
    Position,
    Reader,
    Stretch,
    TopicSummary,
    WriterSummary,
)
from streamlets.channels.kafka.appender import KafkaAppender
from streamlets.channels.kafka.clusters import ClusterState
from streamlets.channels.kafka.deduplication import Deduplication, deduplicated
from streamlets.channels.kafka.offsets import Offsets, ranges
from streamlets.channels.kafka.reader_groups import store_offsets
from streamlets.channels.kafka.records import read_messages, stretches
from streamlets.channels.kafka.topic.administered import AdministeredTopic
from streamlets.channels.kafka.topic.invalid import InvalidMessages, decoded
from streamlets.channels.kafka.topic.losses import Losses
from streamlets.channels.kafka.topic.messages import EXACT, TopicMessages, offsets_in
from streamlets.channels.kafka.traits import TRAITS
from streamlets.channels.replays import Replays
from streamlets.override import override

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message
    from pyspark.sql import DataFrame, SparkSession


class KafkaTopic(AdministeredTopic):
    """A topic of a Kafka cluster.

    Arguments:
        plan, state, directory, application, internal: as for `AdministeredTopic`.
        inlets: the directory of what is stored for inlets in the state directory.
        clock: returns the time in seconds since the epoch.
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
        super().__init__(plan, state, directory, application=application, internal=internal)
        self._clock = clock
        self._messages = TopicMessages(self.stored)
        self._losses = Losses(self._messages, clock)
        self._invalid = InvalidMessages(self._messages, inlets)
        self._wire = state.wire(plan.name, self.settings)
        self.schema: Contract | None = None
        self.invalid_shown: Callable[[str], None] | None = None

    @override
    def read(
        self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False, replicas: int | None = None
    ) -> DataFrame:
        from streamlets.channels.kafka.source import read_topic

        self.require()  # Spark would fail again and again without naming the topic
        horizon = self._invalid.advanced_horizon(inlet) if inlet.on_invalid == "dead-letters" else None
        deduplication = Deduplication.of(inlet.options)
        metadata_needed = metadata or deduplication is not None
        rows = read_topic(
            self.stored, session, inlet, name=name, metadata=metadata_needed, horizon=horizon, replicas=replicas
        )
        return rows if deduplication is None else deduplicated(rows, deduplication, metadata=metadata)

    @property
    @override
    def fails_on_loss(self) -> bool:
        return self.settings.on_data_loss == "fail"

    @override
    def lost(self, reader: Reader) -> tuple[Missed, ...]:
        self.require()
        return self._losses.of(reader)

    @override
    def skipped(self, reader: Reader, until: Position, records: int) -> tuple[Missed, ...]:
        return self._losses.skipped(reader, until, records)

    @override
    def late_operator(self, inlet: InletPlan) -> str | None:
        return DEDUPLICATION.name if Deduplication.of(inlet.options) is not None else None

    @override
    def invalid_count(self, inlet: InletPlan, observed: Mapping[str, Mapping[str, Any]]) -> int:
        from streamlets.channels.kafka.source import invalid_count

        return invalid_count(inlet, observed)

    @override
    def invalid(
        self, session: SparkSession, inlet: InletPlan, after: Position | None, until: Position
    ) -> Iterator[tuple[list[InvalidRecord], Position]]:
        return self._invalid.between(session, inlet, after, until)

    @override
    def decoded(self, content: str, contract: Contract) -> dict[str, Any]:
        return decoded(content, self._wire(contract), contract)

    @override
    def furthest(self, first: Position, second: Position) -> Position:
        one, other = self._messages.offsets(first), self._messages.offsets(second)
        return self._messages.position({n: max(one.get(n, 0), other.get(n, 0)) for n in {*one, *other}})

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
        start, end = self._messages.start(after), self._end(until)
        return self._read(self._messages.read(ranges(start, end)), reader, metadata=metadata)

    @override
    def stretches(self, after: Position | None, until: Position, contract: Contract | None) -> Iterator[Stretch]:
        start = self._messages.start(after)
        messages = self._messages.read(ranges(start, self._messages.offsets(until)))
        return stretches(messages, self._wire(contract), Offsets(self.name, start))

    @override
    def ordered_appender(self, contract: Contract, *, writer: str, partition_by: tuple[str, ...] = ()) -> KafkaAppender:
        partitions = self.cluster.existing(self.name).partitions  # without columns, a contract has one of them
        partition = zlib.crc32(contract.fingerprint.encode()) % partitions if not partition_by else None
        return self._appender(contract, writer=writer, partition_by=partition_by, partition=partition)

    @override
    def end(self) -> Position:
        return self._messages.position(self._messages.latest())

    @override
    def lag(self, at: Position | None, *, reader: str = "") -> Lag:
        parts = ranges(self._messages.start(at), self._messages.latest())
        records = offsets_in(parts)
        if records > EXACT or (records and reader and not self._messages.has_marks()):
            return Lag(records)
        messages = self._messages.read(parts) if records else iter(())
        if (oldest := next(messages, None)) is None:
            return Lag(0, 0.0)
        age = max(0.0, self._clock() - oldest.timestamp()[1] / 1000)
        return Lag(1 + sum(1 for _ in messages), age)

    @override
    def lag_by_partition(self, at: Position | None) -> Mapping[str, int]:
        latest = self._messages.latest()
        parts = ranges(self._messages.start(at), latest)
        lags = {number: offsets_in({number: parts[number]}) if number in parts else 0 for number in sorted(latest)}
        if sum(lags.values()) <= EXACT:  # otherwise marks of transactions are counted, as in `lag`
            lags = dict.fromkeys(lags, 0) | Counter(message.partition() for message in self._messages.read(parts))
        return {str(number): records for number, records in lags.items()}

    @override
    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        parts = ranges(self._messages.start(after), self._messages.offsets(until))
        return self._messages.count(parts, of_reader=bool(reader))

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
            self._losses.watch(readers())
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
            raise ValueError("Kafka deletes only the oldest records of a partition, not the records of a schema")
        start, end = self._messages.earliest(), self._messages.latest()
        if before is not None:
            first = self.cluster.at(self.name, before)
            end = {number: first[number] if first[number] >= 0 else at for number, at in end.items()}
        held: dict[str, int] = {}
        kept = dict(end)
        missed: list[Missed] = []
        for reader in readers:
            committed = self._losses.committed(reader)
            unread = ranges({number: max(committed.get(number, 0), first) for number, first in start.items()}, end)
            if not unread:
                continue
            if force:
                missed += self._losses.purged(reader, unread)
            else:
                held[reader.name] = self._messages.count(unread)
                kept = {number: min(at, unread[number][0]) if number in unread else at for number, at in kept.items()}
        dropped = self._messages.count(ranges(start, kept))
        if not dry and dropped:
            self.cluster.delete_records(self.name, kept)
            self._losses.note(missed)
        return Dropped(records=dropped, held=held, missed=tuple(missed))

    @override
    def missed(self) -> Iterator[Missed]:
        return self._losses.taken()

    @override
    def summary(self) -> TopicSummary:
        newest = max((message.timestamp()[1] / 1000 for message in self._messages.newest(1)), default=None)
        writers = tuple(  # records are not counted by writer
            WriterSummary(contract.record.name, contract.fingerprint, (), None, None, None)
            for contract in self._published()
        )
        return TopicSummary(self.name, self._messages.count(self._messages.all()), None, newest, writers)

    @override
    def contracts(self) -> tuple[Contract, ...]:
        return self._published() if self._messages.all() else ()

    @override
    def last(self, count: int, *, metadata: bool = False) -> Iterator[pa.RecordBatch]:
        self.require_own()
        return self._read(self._messages.newest(count), None, metadata=metadata)

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
        store_offsets(self.cluster, group, self.name, Offsets.from_position(position).partitions)

    def _read(
        self, messages: Iterable[Message], reader: Contract | None, *, metadata: bool = False
    ) -> Iterator[pa.RecordBatch]:
        wire = self._wire(reader or self.schema)
        return read_messages(messages, wire, reader, topic=self.name, metadata=metadata, invalid=self.invalid_shown)

    def _end(self, until: Position | None) -> Mapping[int, int]:
        return self._messages.offsets(until) if until is not None else self._messages.latest()

    def _published(self) -> tuple[Contract, ...]:
        contracts = self.state.contracts(self.name, self.settings)
        return tuple(sorted(contracts, key=lambda contract: contract.fingerprint))
