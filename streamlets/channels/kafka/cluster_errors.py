"""Errors of requests to a Kafka cluster, as errors of a channel."""

from __future__ import annotations

from streamlets.channels.base import ChannelUnavailableError, RecordTooLargeError, TopicLostError


class ClusterError(ChannelUnavailableError):
    """The cluster does not answer, or it refuses a request.

    Arguments:
        message: the request and the cause.
        help: what to do, in the imperative.
    """

    def __init__(self, message: str, help: str = "check the servers with `flow doctor`") -> None:
        super().__init__(message)
        self.help = help


class NoLeaderError(ClusterError):
    """A partition has no leader at the moment."""


class TopicExistsError(ClusterError):
    """The topic to create exists."""


def channel_error(error: Exception, topic: str, cluster: str) -> Exception:
    """Return an error of confluent-kafka as one of the channel.

    Arguments:
        error: the error, whose first argument is its cause.
        topic: the name of the topic that the request was about.
        cluster: the servers of the cluster.
    """
    from confluent_kafka import KafkaError

    cause = error.args[0]
    code = cause.code() if isinstance(cause, KafkaError) else None
    local = (KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001 - librdkafka's own errors
    if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, *local):
        lost = TopicLostError(f"the topic `{topic}` does not exist on the Kafka cluster {cluster}")
        lost.help = "create the topic, correct its name (`topic.name`), or set `managed = yes` to have a run create it"
        return lost
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        return TopicExistsError(f"the topic `{topic}` exists on the Kafka cluster {cluster}")
    text = cause.str() if isinstance(cause, KafkaError) else str(error)
    if code in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE):
        return NoLeaderError(f"a partition of the topic `{topic}` has no leader on the Kafka cluster {cluster}")
    if code in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE):
        return RecordTooLargeError(f"a record is too large for the topic `{topic}`: {text}; no record was published")
    if error_of_transaction := _transaction_error(code, topic, cluster):
        return error_of_transaction
    message = f"the Kafka cluster {cluster} refused a request about the topic `{topic}`: {text}"
    if code in (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ):
        return ClusterError(message, "ask for the rights that `flow topics acls` lists")
    if code in (
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.POLICY_VIOLATION,
    ):
        return ClusterError(message, f"correct the settings below `topic` of the topic `{topic}`")
    return ClusterError(message)


def _transaction_error(code: int | None, topic: str, cluster: str) -> ClusterError | None:
    """Return the error of a producer with transactions; None for another one."""
    from confluent_kafka import KafkaError

    if code in (
        KafkaError._FENCED,  # noqa: SLF001 - librdkafka's own errors are named like this
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.INVALID_TXN_STATE,
    ):
        return ClusterError(
            f"a transaction of the topic `{topic}` was aborted by the Kafka cluster {cluster}: another attempt has "
            "begun, or it was open for longer than `transaction.timeout.ms`; the next attempt sends what is missing",
            "if it happens again and again, raise `transaction.timeout.ms` below `producer-config`",
        )
    if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return ClusterError(
            f"the Kafka cluster {cluster} does not allow transactions as long as `transaction.timeout.ms` of the topic "
            f"`{topic}`",
            "lower `transaction.timeout.ms` below `producer-config` to at most `transaction.max.timeout.ms` of the "
            "brokers, which is 15 minutes by default",
        )
    if code in (
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError._UNSUPPORTED_FEATURE,  # noqa: SLF001 - as above
    ):
        return ClusterError(
            f"the Kafka cluster {cluster} has no transactions for the topic `{topic}` at the moment",
            "check its topic `__transaction_state`, and that `transaction.state.log.replication.factor` and "
            "`transaction.state.log.min.isr` are not larger than the number of brokers",
        )
    return None
