"""Producers with transactions, of appenders and of exactly-once outlets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamlets.channels.kafka.client_settings import transactional
from streamlets.channels.kafka.cluster import Connection
from streamlets.channels.kafka.cluster_errors import ClusterError

if TYPE_CHECKING:
    import logging

    from confluent_kafka import Producer

APPENDER: Mapping[str, object] = {"compression.type": "lz4", "linger.ms": 0}
"""The settings of an appender's producer, which sends each append at once."""


def transactional_producer(
    connection: Connection, cluster: str, transactional_id: str, settings: Mapping[str, object], log: logging.Logger
) -> Producer:
    """Return a new producer with transactions. It chooses partitions by keys as Spark's sink does.

    Arguments:
        connection: how to connect.
        cluster: the servers of the cluster, for messages.
        transactional_id: the id of its transactions.
        settings: settings by librdkafka's names, which override the settings of the connection.
        log: takes the messages of librdkafka.

    Raises:
        ClusterError: the settings contradict each other.
    """
    from confluent_kafka import KafkaException, Producer

    own = {"transactional.id": transactional_id, "partitioner": "murmur2_random"}
    try:
        return Producer({**transactional(connection.librdkafka), **own, **settings}, logger=log)
    except (KafkaException, ValueError) as error:
        help = "correct the settings below `producer-config` (`flow config`)"
        raise ClusterError(f"a producer of the Kafka cluster {cluster}: {error}", help) from None
