"""Consumer groups without members, which have the positions of readers for other tools."""

from __future__ import annotations

from collections.abc import Mapping

from streamlets.channels.kafka.cluster_client import TIMEOUT, Cluster
from streamlets.channels.kafka.cluster_errors import ClusterError


def store_offsets(cluster: Cluster, group: str, topic: str, partitions: Mapping[int, int]) -> None:
    """Store the offsets of a group.

    Raises:
        ClusterError: the cluster does not answer, or does not allow it.
    """
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    offsets = [TopicPartition(topic, number, at) for number, at in partitions.items()]
    request = [ConsumerGroupTopicPartitions(group, offsets)]
    (future,) = cluster.ask(lambda admin: admin.alter_consumer_group_offsets(request, request_timeout=TIMEOUT))
    cluster.result(future, topic)


def delete_group(cluster: Cluster, group: str) -> None:
    """Delete a group with its offsets; without effect if it does not exist.

    Raises:
        ClusterError: the cluster does not answer, or does not allow it.
    """
    from confluent_kafka import KafkaError, KafkaException

    (future,) = cluster.ask(lambda admin: admin.delete_consumer_groups([group], request_timeout=TIMEOUT))
    try:
        future.result(TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise ClusterError(
                f"the Kafka cluster {cluster.name} refused to delete the group `{group}`: {error.args[0].str()}",
                f"allow the operation `Delete` on the group, or delete `{group}` with Kafka's own tools",
            ) from None
    except TimeoutError:
        raise ClusterError(f"the Kafka cluster {cluster.name} did not answer within {TIMEOUT:.0f} seconds") from None
