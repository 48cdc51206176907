"""`Cluster`: requests to a Kafka cluster without Spark, each with a time limit; errors are errors of a channel."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.client_settings import idempotent
from streamlets.channels.kafka.cluster import Connections
from streamlets.channels.kafka.cluster_errors import ClusterError, NoLeaderError, TopicExistsError, channel_error
from streamlets.channels.kafka.producers import APPENDER, transactional_producer

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import Message, Producer

    from streamlets.channels.kafka.admin_client import AdminClient

TIMEOUT = 30.0
"""Seconds for a request, and for the next records of a topic: longer than the election of a new leader."""

VISIBLE_PATIENCE = 1.0
"""Seconds to wait until readers see a committed transaction, unless an open one of another writer delays it."""

_LOG = logging.getLogger("streamlets.kafka")  # librdkafka would print to standard error
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False

_AT_ONCE = 1000
_QUEUED_KB = "16384"
_POLL = 0.01
_VISIBLE_POLL = 0.002


@dataclass(frozen=True, slots=True)
class Existing:
    """A topic as it exists.

    Arguments:
        id: its id, which distinguishes it from a later topic with its name.
        partitions: the number of its partitions.
        replicas: the number of replicas of its first partition.
    """

    id: str
    partitions: int
    replicas: int


class Cluster:
    """A Kafka cluster. Its methods may be called from any thread.

    Arguments:
        connections: how to connect.
    """

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.name = connections.servers
        self._admin_client: AdminClient | None = None

    def existing(self, topic: str) -> Existing:
        """Return a topic.

        Raises:
            TopicLostError: it does not exist.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        from confluent_kafka import TopicCollection

        (future,) = self.ask(lambda admin: admin.describe_topics(TopicCollection([topic]), request_timeout=TIMEOUT))
        found = self.result(future, topic)
        return Existing(str(found.topic_id), len(found.partitions), len(found.partitions[0].replicas))

    def create(self, topic: str, partitions: int, replicas: int, config: Mapping[str, str]) -> bool:
        """Create a topic; return False if it exists.

        Arguments:
            topic: its name.
            partitions: the number of its partitions; -1 for the default of the cluster.
            replicas: the number of replicas of each; -1 for the default of the cluster.
            config: settings of the topic, by Kafka's names.

        Raises:
            ClusterError: the cluster does not answer, or refuses the topic.
        """
        from confluent_kafka.admin import NewTopic

        new = NewTopic(topic, num_partitions=partitions, replication_factor=replicas, config=dict(config))
        (future,) = self.ask(lambda admin: admin.create_topics([new], request_timeout=TIMEOUT))
        try:
            self.result(future, topic)
        except TopicExistsError:
            return False
        except ClusterError:
            # Who may use a topic need not be allowed to create it.
            if self._has(topic):
                return False
            raise
        limit = time.monotonic() + TIMEOUT
        while time.monotonic() < limit:  # brokers learn of a new topic shortly after it was created
            with suppress(TopicLostError):
                self.existing(topic)
                break
            time.sleep(_POLL)
        return True

    def _has(self, topic: str) -> bool:
        try:
            self.existing(topic)
        except (TopicLostError, ClusterError):
            return False
        return True

    def settings(self, topic: str) -> dict[str, str]:
        """Return the effective settings of a topic, by Kafka's names.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        from confluent_kafka.admin import ConfigResource, ResourceType

        resource = ConfigResource(ResourceType.TOPIC, topic)
        (future,) = self.ask(lambda admin: admin.describe_configs([resource], request_timeout=TIMEOUT))
        return {name: str(entry.value) for name, entry in self.result(future, topic).items()}

    def alter_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """Set some of the settings of a topic; others stay as they are.

        Arguments:
            topic: the name of the topic.
            settings: the new values, by Kafka's names.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        (future,) = self.ask(lambda admin: admin.incremental_alter_configs([resource], request_timeout=TIMEOUT))
        self.result(future, topic)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Add partitions to a topic.

        Arguments:
            topic: the name of the topic.
            partitions: the new number of its partitions.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        from confluent_kafka.admin import NewPartitions

        new = NewPartitions(topic, partitions)
        (future,) = self.ask(lambda admin: admin.create_partitions([new], request_timeout=TIMEOUT))
        self.result(future, topic)

    def delete(self, topic: str) -> None:
        """Delete a topic.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        (future,) = self.ask(lambda admin: admin.delete_topics([topic], request_timeout=TIMEOUT))
        self.result(future, topic)
        limit = time.monotonic() + TIMEOUT
        while time.monotonic() < limit:  # brokers learn of it shortly after; until then they would return the old id
            try:
                self.existing(topic)
            except TopicLostError:
                break
            time.sleep(_POLL)

    def earliest(self, topic: str) -> dict[int, int]:
        """Return the offset of the first record by partition, or of the next record if there are none.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        return self._offsets(topic, lambda specs: specs.earliest())

    def latest(self, topic: str) -> dict[int, int]:
        """Return the offset after the last committed record by partition.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        return self._offsets(topic, lambda specs: specs.latest())

    def stored(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record by partition, whether it is committed or not.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        return self._offsets(topic, lambda specs: specs.latest(), committed=False)

    def await_committed(self, topic: str, ends: Mapping[int, int], patience: float) -> bool:
        """Wait until readers see the records before offsets; return whether they do.

        A transaction becomes visible shortly after its commit. Readers do not see what follows an open transaction of
        another writer, so it may take as long as that is open.

        Arguments:
            topic: the name of the topic.
            ends: the offsets by partition.
            patience: the number of seconds to wait.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        limit = time.monotonic() + patience
        while True:
            latest = self.latest(topic)
            if all(latest.get(partition, 0) >= end for partition, end in ends.items()):
                return True
            if time.monotonic() > limit:
                return False
            time.sleep(_VISIBLE_POLL)

    def at(self, topic: str, time: float) -> dict[int, int]:
        """Return the offset of the first record of a time or later by partition; -1 if there is none.

        Arguments:
            topic: the name of the topic.
            time: the time in seconds since the epoch.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        return self._offsets(topic, lambda specs: specs.for_timestamp(round(time * 1000)))

    def _offsets(self, topic: str, spec: Callable[[Any], Any], *, committed: bool = True) -> dict[int, int]:
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        wanted = {TopicPartition(topic, number): spec(OffsetSpec) for number in range(self.existing(topic).partitions)}
        end = time.monotonic() + TIMEOUT
        while True:
            futures = self.ask(
                lambda admin: admin.list_offsets(wanted, isolation_level=isolation, request_timeout=TIMEOUT),
                keys=True,
            )
            try:
                return {key.partition: int(self.result(future, topic).offset) for key, future in futures.items()}
            except NoLeaderError:  # a topic that was just created, or whose broker has just changed
                if time.monotonic() > end:
                    raise
                time.sleep(_POLL)

    def messages(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Message]:
        """Yield the committed messages of ranges of offsets, in the order of their timestamps.

        The messages of a partition are in the order of their offsets.

        Arguments:
            topic: the name of the topic.
            ranges: the first offset and the one after the last, by partition.

        Raises:
            TopicLostError: the topic or messages of a range no longer exist.
            ClusterError: the cluster does not answer.
        """
        parts = [self._part(topic, number, *range_) for number, range_ in sorted(ranges.items())]
        return parts[0] if len(parts) == 1 else heapq.merge(*parts, key=lambda message: message.timestamp()[1])

    def _part(self, topic: str, partition: int, start: int, end: int) -> Iterator[Message]:
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        at_end = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own errors are named like this
        if start >= end:
            return
        settings = {
            **self.connections.consumer.librdkafka,
            "group.id": "streamlets",  # required, and not used: nothing is committed
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10,  # an end of a range that is a mark of a transaction is seen by an empty fetch
            "queued.max.messages.kbytes": _QUEUED_KB,
        }
        with closing(Consumer(settings, logger=_LOG)) as consumer:
            consumer.assign([TopicPartition(topic, partition, start)])
            while True:
                # The first message is awaited, then those that have arrived are taken.
                first = consumer.poll(TIMEOUT)
                if first is None:
                    raise ClusterError(f"the Kafka cluster {self.name} returns no records of the topic `{topic}`")
                for message in [first, *consumer.consume(_AT_ONCE, 0)]:
                    error = message.error()
                    if error is None and message.offset() < end:
                        yield message
                    if error is not None and error.code() == at_end:
                        if message.offset() >= end:
                            return
                    elif error is not None:
                        raise self._read_error(error, topic, partition, start)
                    elif message.offset() >= end - 1:
                        return

    def _read_error(self, error: Any, topic: str, partition: int, start: int) -> Exception:
        from confluent_kafka import KafkaError, KafkaException

        if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - see `_part`
            return TopicLostError(
                f"the topic `{topic}` has no record at offset {start} of partition {partition}: it was deleted, or the "
                "topic was created again"
            )
        return channel_error(KafkaException(error), topic, self.name)

    def producer(self, transactional_id: str, settings: Mapping[str, object] = APPENDER) -> Producer:
        """Return a new producer with transactions; see `transactional_producer`."""
        return transactional_producer(self.connections.producer, self.name, transactional_id, settings, _LOG)

    def send(self, topic: str, messages: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Send messages, and wait until the cluster has stored them.

        Arguments:
            topic: the name of the topic.
            messages: keys and values; None as a value removes the key from a compacted topic.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        from confluent_kafka import KafkaException, Producer

        failures = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failures.append(error)

        settings = {
            **idempotent(self.connections.producer.librdkafka),
            "enable.idempotence": True,
            "message.timeout.ms": int(TIMEOUT * 1000),
        }
        producer = Producer(settings, logger=_LOG)
        for key, value in messages:
            producer.produce(topic, value=value, key=key, on_delivery=delivered)
        producer.flush()
        if failures:
            raise channel_error(KafkaException(failures[0]), topic, self.name)

    def delete_records(self, topic: str, partitions: Mapping[int, int]) -> None:
        """Delete the records before an offset of each partition.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        from confluent_kafka import TopicPartition

        before = [TopicPartition(topic, number, at) for number, at in partitions.items()]
        for future in self.ask(lambda admin: admin.delete_records(before, request_timeout=TIMEOUT)):
            self.result(future, topic)

    def ask(self, request: Callable[[AdminClient], Mapping[Any, Future[Any]]], *, keys: bool = False) -> Any:
        """Send a request; return the answers, by what was requested if `keys` is set."""
        from confluent_kafka import KafkaException

        if self._admin_client is None:
            from streamlets.channels.kafka.admin_client import AdminClient

            self._admin_client = AdminClient(dict(self.connections.admin.librdkafka), logger=_LOG)
        try:
            answers = request(self._admin_client)
        except (KafkaException, ValueError) as error:
            raise ClusterError(f"the Kafka cluster {self.name}: {error}") from None
        return answers if keys else list(answers.values())

    def result(self, future: Future[Any], topic: str) -> Any:
        """Return an answer about a topic.

        Raises:
            TopicLostError, ClusterError: as for `existing`.
        """
        from confluent_kafka import KafkaException

        try:
            return future.result(TIMEOUT)
        except KafkaException as error:
            raise channel_error(error, topic, self.name) from None
        except TimeoutError:
            raise ClusterError(f"the Kafka cluster {self.name} did not answer within {TIMEOUT:.0f} seconds") from None
