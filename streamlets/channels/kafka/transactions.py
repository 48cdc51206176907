"""`ShareSender`: sends the share of a task in Kafka transactions, and only what earlier attempts have not committed.

The transactional id belongs to the task, so that a new attempt fences the earlier ones and aborts what they have left
open. Each transaction replaces the entry of the task in the topic of writers. An attempt reads the entry after it has
fenced the others, and continues after the messages that it names. So an attempt that was abandoned and wakes later,
whether before or after its commit, sends nothing twice.

It needs no Spark, so that it runs in the driver and in executors.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlets.channels.base import BatchMismatchError
from streamlets.channels.kafka.client_settings import DEFAULT_TRANSACTION_TIMEOUT, TRANSACTION_TIMEOUT
from streamlets.channels.kafka.cluster import Connections
from streamlets.channels.kafka.cluster_client import TIMEOUT, Cluster
from streamlets.channels.kafka.cluster_errors import channel_error
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.channels.kafka.shares import Share, require_whole
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

LETTER, TOPIC, PARTITION, KEY, VALUE, HEADERS = "letter", "topic", "partition", "key", "value", "headers"
"""The columns of stored messages. All but `value` may be missing: `letter` is not null for a dead letter."""

_AT_ONCE, _BYTES_AT_ONCE = 5_000, 8 * 2**20
"""How many messages, and about how many bytes, are added to a producer at once."""

_QUEUED_MESSAGES, _QUEUED_BYTES = 50_000, 32 * 2**20
"""How many may wait in a producer when others are added; librdkafka takes up to 100,000."""

_SHORTEST, _PART_OF_TIMEOUT = 1.0, 4
"""A share is split into transactions that take a part of the timeout, so that a large batch does not exceed it."""

# Seconds to abort a transaction, and between two looks at the queue.
_ABORT_PATIENCE = 5.0
_POLL = 0.01


@dataclass(frozen=True, slots=True)
class Progress:
    """What a task has committed: its entry in the topic of writers.

    Arguments:
        batch: the number of the last batch of which it has committed messages.
        shares: the id of the decision how that batch is sent.
        messages: how many messages of its share it has committed.
    """

    batch: int = -1
    shares: str = ""
    messages: int = 0

    def to_json(self) -> bytes:
        """Return the entry as it is stored."""
        return json.dumps({"batch": self.batch, "shares": self.shares, "messages": self.messages}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Progress:
        """Return the entry from what `to_json` returned."""
        content = json.loads(data)
        return cls(int(content["batch"]), str(content["shares"]), int(content["messages"]))


@dataclass(frozen=True, slots=True)
class Sending:
    """A share, and what its task needs to send it.

    Arguments:
        connections: the connections of the cluster.
        writers: the topic with the entries of writers.
        prefix: the beginning of transactional ids; the name of the task follows.
        name: the name of the task, the key of its entry.
        query: the query and the outlet, for messages.
        batch: the number of the batch.
        shares: the id of the decision how the batch is sent.
        share: the share.
        topic: the topic of messages without a column `topic`.
        known: the entry of the task as the driver knows it.
        since: the offset in the topic of writers up to which the driver has read it.
        settings: settings of the producer, by librdkafka's names.
    """

    connections: Connections
    writers: str
    prefix: str
    name: str
    query: str
    batch: int
    shares: str
    share: Share
    topic: str
    known: Progress = Progress()
    since: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """The outcome of a share.

    Arguments:
        progress: the entry of the task.
        read: the offset in the topic of writers up to which the task has read it.
    """

    progress: Progress
    read: int


def send_share(sending: Sending) -> Sent | Exception:
    """Send a share with a producer of its own. An error is returned: a retry by Spark would meet it again."""
    sender = ShareSender(Cluster(sending.connections))
    try:
        return sender.send(sending)
    except Exception as error:  # noqa: BLE001 - the driver raises it
        return error
    finally:
        sender.release()


class ShareSender:
    """Sends the shares of one task, one after the other, with a producer that it keeps.

    Arguments:
        cluster: the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._producer: Any = None
        self._progress = Progress()
        self._read = 0
        self._failures: list[Any] = []

    def send(self, sending: Sending) -> Sent:
        """Send what earlier attempts have not committed.

        The cluster may have committed a transaction without an answer. So after an error another producer is opened,
        and the entry is read again.

        Raises:
            BatchMismatchError: the cluster has another batch under its number, or a later one.
            RecordTooLargeError, TopicLostError: messages are refused.
            DamagedFileError: the files of the share do not have its messages.
            ClusterError: the cluster does not answer, or does not allow it; another attempt has fenced this one.
        """
        try:
            if self._producer is None:
                self._open(sending)
            done = self._committed(sending)
            if done < sending.share.messages:
                self._send_after(sending, done)
        except BaseException:
            self.release()
            raise
        return Sent(self._progress, self._read)

    def release(self) -> None:
        """Abandon the producer with its transaction; if it cannot be aborted now, the next producer aborts it."""
        from confluent_kafka import KafkaException

        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            with suppress(KafkaException):
                producer.abort_transaction(_ABORT_PATIENCE)

    def _open(self, sending: Sending) -> None:
        """Start a producer, which fences the earlier ones, and read what they have committed until then."""
        self._failures = []
        settings = {"delivery.report.only.error": True, **sending.settings}
        producer = self._cluster.producer(f"{sending.prefix}/{sending.name}", settings)
        self._call(sending, lambda: producer.init_transactions(TIMEOUT))
        self._producer = producer
        writers = CompactedTable(self._cluster, sending.writers, start=sending.since)
        data = writers.settled().get(sending.name)
        self._progress = Progress.from_json(data) if data is not None else sending.known
        self._read = writers.end

    def _committed(self, sending: Sending) -> int:
        """Return how many messages of the share are committed."""
        progress = self._progress
        if progress.batch < sending.batch:
            return 0
        if progress.batch > sending.batch or progress.shares != sending.shares:
            raise BatchMismatchError(
                f"the query {sending.query} would send batch {sending.batch} to the topic `{sending.topic}`, which has "
                f"batch {progress.batch} of it with other content: its checkpoint or its state directory is an older "
                "copy; nothing was sent. Restore the newest one, or reset the checkpoint with `flow checkpoints reset`"
            )
        return progress.messages

    def _send_after(self, sending: Sending, done: int) -> None:
        require_whole([Path(file) for file in sending.share.files], sending.share.messages)
        rows = _rows(sending.share, done)
        longest = self._longest(sending)
        while done < sending.share.messages:
            self._call(sending, self._producer.begin_transaction)
            limit = time.monotonic() + longest
            for batch in rows:
                for topic, messages in _by_topic(sending.topic, batch).items():
                    self._produce(sending, topic, messages)
                done += batch.num_rows
                if time.monotonic() > limit:
                    break
            self._commit(sending, Progress(sending.batch, sending.shares, done))
        crash_point("after-share-commit", run=True)

    def _longest(self, sending: Sending) -> float:
        """Return how many seconds messages are added to a transaction."""
        settings = {**self._cluster.connections.producer.librdkafka, **sending.settings}
        timeout = int(str(settings.get(TRANSACTION_TIMEOUT, DEFAULT_TRANSACTION_TIMEOUT)))
        return max(_SHORTEST, timeout / 1000 / _PART_OF_TIMEOUT)

    def _produce(self, sending: Sending, topic: str, messages: list[dict[str, Any]]) -> None:
        """Add messages to the transaction, in their order: none is added after one for which the queue has no room."""
        size = sum(len(message[VALUE] or b"") + len(message.get(KEY) or b"") for message in messages)
        room = min(_QUEUED_MESSAGES, _QUEUED_BYTES * len(messages) // max(1, size))
        while len(self._producer) > room:
            self._call(sending, partial(self._producer.poll, _POLL))  # raises a fatal error, which `flush` does not
            self._raise_failure(sending)
        if HEADERS in messages[0]:  # which `produce_batch` does not have
            for message in messages:
                self._call(sending, partial(self._producer.produce, topic, on_delivery=self._delivered, **message))
        else:
            self._call(sending, partial(self._producer.produce_batch, topic, messages, on_delivery=self._delivered))
            if failed := next((message for message in messages if "_error" in message), None):
                raise self._error(sending, failed["_error"])
        self._raise_failure(sending)

    def _commit(self, sending: Sending, progress: Progress) -> None:
        """Commit the transaction with the entry, which is sent last: readers do not see what follows an open entry."""
        while len(self._producer):  # ends when each message has arrived or failed
            self._call(sending, partial(self._producer.poll, _POLL))  # raises a fatal error, which `flush` does not
            self._raise_failure(sending)
        self._raise_failure(sending)
        entry = {KEY: sending.name.encode(), VALUE: progress.to_json()}
        self._call(sending, partial(self._producer.produce, sending.writers, on_delivery=self._delivered, **entry))
        crash_point("after-share-sent", run=True)
        self._call(sending, partial(self._producer.commit_transaction, TIMEOUT))
        self._progress = progress

    def _delivered(self, error: Any, _: object) -> None:
        if error is not None:
            self._failures.append(error)

    def _raise_failure(self, sending: Sending) -> None:
        if self._failures:
            raise self._error(sending, self._failures[0])

    def _call(self, sending: Sending, function: Any) -> None:
        """Call a function of the producer; raise its errors as errors of the channel."""
        from confluent_kafka import KafkaException

        try:
            function()
        except KafkaException as error:
            raise self._error(sending, self._failures[0] if self._failures else error.args[0]) from None

    def _error(self, sending: Sending, cause: Any) -> Exception:
        """Return an error of the producer as one of the channel.

        After a fatal error, which the producer may notice between two calls, `produce` does not name it; the end of the
        transaction does.
        """
        from confluent_kafka import KafkaError, KafkaException

        if cause.code() == KafkaError._FATAL:  # noqa: SLF001 - librdkafka's own errors are named like this
            try:
                self._producer.commit_transaction(TIMEOUT)
            except KafkaException as fatal:
                cause = fatal.args[0]
        return channel_error(KafkaException(cause), sending.topic, self._cluster.name)


def _rows(share: Share, done: int) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a share after the first ones."""
    import pyarrow.parquet as pq

    for file in share.files:
        with pq.ParquetFile(file) as opened:
            size = opened.metadata.num_rows
            if done >= size:
                done -= size
                continue
            groups = range(opened.metadata.num_row_groups)
            bytes = sum(opened.metadata.row_group(group).total_byte_size for group in groups)
            for batch in opened.iter_batches(max(1, min(_AT_ONCE, _BYTES_AT_ONCE * size // max(1, bytes)))):
                rest = batch.slice(done)
                done = max(0, done - batch.num_rows)
                if rest.num_rows:
                    yield rest


def _by_topic(topic: str, rows: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Return messages by topic, as a producer takes them."""
    columns = {name: rows.column(name).to_pylist() for name in rows.schema.names if name != LETTER}
    topics = columns.pop(TOPIC, [topic] * rows.num_rows)
    if HEADERS in columns:
        columns[HEADERS] = [[(one[KEY], one[VALUE]) for one in headers or ()] for headers in columns[HEADERS]]
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for name, row in zip(topics, zip(*columns.values(), strict=True), strict=True):
        message = dict(zip(columns, row, strict=True))
        if message.get(PARTITION, 0) is None:
            del message[PARTITION]  # the key chooses it
        by_topic.setdefault(name, []).append(message)
    return by_topic
