"""`KafkaAppender`: appends in transactions, so that an append is published completely or not at all.

The id of the producer's transactions contains the writer, so Kafka refuses an earlier producer of the same writer. Each
transaction also replaces the writer's entry in a compacted topic: its epoch, the number of its last append, and its
marker. The key of the entry is `<topic>/<writer>`, its value JSON.

Records without keys are sent to one partition, another one for each append: a transaction becomes visible in one
partition after the other, but in a single one at once, so that a batch has all of it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamlets.channels.base import Appender, TopicWriteError, WriterFencedError
from streamlets.channels.kafka.cluster_client import TIMEOUT, VISIBLE_PATIENCE, Cluster
from streamlets.channels.kafka.cluster_errors import channel_error
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.channels.kafka.keys import key_function
from streamlets.channels.kafka.stored_batches import stored
from streamlets.override import override
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import KafkaException, Message

    from blueprint.avro.model import Contract
    from streamlets.contract.wire.format import WireFormat

WRITERS = "_streamlets_writers"
"""The topic with the entries of all writers of a cluster, unless `internal-prefix` is set."""


def transaction_prefix(writers: str) -> str:
    """Return the prefix of the ids of transactions, which is derived from the prefix of internal topics.

    Arguments:
        writers: the topic with the entries of writers.
    """
    return writers.removesuffix("_writers").lstrip("_")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about a writer.

    Arguments:
        epoch: the highest epoch with which it was opened.
        last: the number of its last append; None before the first one.
        marker: its last marker; None if there is none.
    """

    epoch: int = 0
    last: int | None = None
    marker: bytes | None = None

    def to_json(self) -> bytes:
        """Return the entry as it is stored."""
        marker = base64.b64encode(self.marker).decode() if self.marker is not None else None
        return json.dumps({"epoch": self.epoch, "last": self.last, "marker": marker}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Entry:
        """Return the entry from what `to_json` returned."""
        content = json.loads(data)
        marker = content["marker"]
        return cls(content["epoch"], content["last"], base64.b64decode(marker) if marker is not None else None)


class KafkaAppender(Appender):
    """Appends records to a topic; see `Appender`.

    Arguments:
        cluster: the cluster.
        writers: the entries of writers.
        topic: the name of the topic.
        contract: the contract that the records are written with.
        wire: the format of the topic.
        writer: the id of the writer.
        epoch: the epoch with which it is opened.
        partition_by: the columns of the records' keys.
        require: raises `TopicLostError` if the topic no longer exists.
        partition: the partition of all records; None to choose it by their keys.

    Raises:
        WriterFencedError: the writer has been opened with a higher epoch.
        ClusterError: the cluster does not answer, or does not allow it.
    """

    def __init__(
        self,
        cluster: Cluster,
        writers: CompactedTable,
        topic: str,
        contract: Contract,
        wire: WireFormat,
        *,
        writer: str,
        epoch: int,
        partition_by: tuple[str, ...],
        require: Callable[[], None],
        partition: int | None = None,
    ) -> None:
        self._cluster = cluster
        self._writers = writers
        self._topic = topic
        self._contract = contract
        self._wire = wire
        self._name = f"{topic}/{writer}"
        self._writer = writer
        self._epoch = epoch
        self._require = require
        self._partition = partition
        self._has_keys = bool(partition_by)
        self._keys = key_function(contract, partition_by)
        self._entry = Entry()
        self._producer: Any = None
        writers.create()
        self._open()

    @property
    @override
    def last(self) -> int | None:
        return self._entry.last

    @property
    @override
    def marker(self) -> bytes | None:
        return self._entry.marker

    @override
    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        """Append records in one transaction.

        The cluster may have committed a transaction without an answer. So after an error the writer's entry is read
        again before the next append.
        """
        if self._producer is None:
            self._open()
        if self._entry.last is not None and self._entry.last >= sequence:
            return False
        self._require()  # the cluster may be set to create a topic that a producer writes to
        entry = Entry(self._epoch, sequence, marker if marker is not None else self._entry.marker)
        with stored(rows) as batches:
            try:
                self._commit(batches, entry)
            except WriterFencedError:
                self._release()
                self._open()  # raises if the other one has a higher epoch
                return self.append(batches, sequence, marker=marker)
            except BaseException:
                self._release()
                raise
        self._entry = entry
        crash_point("after-append-commit")
        return True

    @override
    def close(self) -> None:
        self._release()

    def _open(self) -> None:
        """Start a producer, which fences the earlier ones, unless one of them has a higher epoch."""
        self._entry = self._stored()
        producer = self._cluster.producer(f"{transaction_prefix(self._writers.topic)}/{self._name}")
        self._call(lambda: producer.init_transactions(TIMEOUT))
        self._producer = producer
        self._entry = self._stored(settled=True)  # an earlier producer may have committed until it was fenced
        if self._entry.epoch < self._epoch:
            entry = Entry(self._epoch, self._entry.last, self._entry.marker)
            try:
                self._commit([], entry)
            except WriterFencedError:
                self._release()
                return self._open()
            self._entry = entry
        return None

    def _stored(self, *, settled: bool = False) -> Entry:
        data = (self._writers.settled() if settled else self._writers.refreshed()).get(self._name)
        entry = Entry.from_json(data) if data is not None else Entry()
        if entry.epoch > self._epoch:
            self._release()
            raise WriterFencedError(
                f"the writer `{self._writer}` of the topic `{self._topic}` was opened again with the epoch "
                f"{entry.epoch}, after {self._epoch}; no record was published"
            )
        return entry

    def _commit(self, batches: Iterable[pa.RecordBatch], entry: Entry) -> None:
        producer, failures = self._producer, []
        ends: dict[int, int] = {}

        def delivered(error: object, message: Message) -> None:
            if error is not None:
                failures.append(error)
            elif message.topic() == self._topic:
                ends[message.partition()] = max(ends.get(message.partition(), 0), message.offset() + 1)

        target = self._target(entry)
        self._call(producer.begin_transaction)
        for batch in batches:
            for key, value in zip(self._keys(batch), self._wire.encode(batch, self._contract), strict=True):
                self._produce(self._topic, key, value, delivered, **target)
        self._produce(self._writers.topic, self._name.encode(), entry.to_json(), delivered)
        crash_point("after-append-file")
        self._call(lambda: producer.commit_transaction(TIMEOUT), failures)
        self._cluster.await_committed(self._topic, ends, VISIBLE_PATIENCE)

    def _target(self, entry: Entry) -> dict[str, int]:
        """Return the partition of the records of an append; nothing if their keys choose it."""
        if self._partition is not None:
            return {"partition": self._partition}
        if self._has_keys or entry.last is None:
            return {}
        partitions = sorted(self._cluster.latest(self._topic))
        return {"partition": partitions[entry.last % len(partitions)]}

    def _produce(self, topic: str, key: bytes | None, value: bytes, delivered: Any, **to: int) -> None:
        while True:
            try:
                self._call(lambda: self._producer.produce(topic, value=value, key=key, on_delivery=delivered, **to))
                return
            except BufferError:  # the queue of the producer is full
                self._producer.poll(1.0)

    def _call(self, function: Any, failures: list[Any] | None = None) -> None:
        """Call a function of the producer; raise its errors as errors of an appender."""
        from confluent_kafka import KafkaError, KafkaException

        try:
            function()
        except KafkaException as error:
            if self._cause(error) in (
                KafkaError._FENCED,  # noqa: SLF001 - librdkafka's own errors are named like this
                KafkaError.PRODUCER_FENCED,
                KafkaError.INVALID_PRODUCER_EPOCH,
            ):
                message = f"the writer `{self._writer}` of the topic `{self._topic}` was fenced"
                raise WriterFencedError(message) from None
            first = KafkaException(failures[0]) if failures else error
            reason = channel_error(first, self._topic, self._cluster.name)
            if isinstance(reason, OSError):
                raise TopicWriteError(f"cannot write to topic `{self._topic}`: {reason}") from None
            raise reason from None

    def _cause(self, error: KafkaException) -> int:
        """Return the code of an error.

        After a fatal error, which the producer may notice between two calls, `produce` does not name it; the end of the
        transaction does.
        """
        from confluent_kafka import KafkaError
        from confluent_kafka import KafkaException as AnyError

        if error.args[0].code() == KafkaError._FATAL:  # noqa: SLF001 - as above
            try:
                self._producer.commit_transaction(TIMEOUT)
            except AnyError as fatal:
                return int(fatal.args[0].code())
        return int(error.args[0].code())

    def _release(self) -> None:
        """Abandon the producer with its transaction.

        If it cannot be aborted now, the cluster aborts it when the next producer of the writer is opened, or after a
        minute.
        """
        from confluent_kafka import KafkaException

        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            with suppress(KafkaException):
                producer.abort_transaction(_ABORT_PATIENCE)


_ABORT_PATIENCE = 5.0
"""Seconds to abort a transaction."""
