"""Checks that Kafka clusters answer."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Iterator

from blueprint.plan import TopicPlan
from streamlets.channels.kafka.cluster import Connections, connections
from streamlets.checks import Check, State

# Seconds until a cluster that does not answer counts as unreachable.
_PATIENCE = 10.0


def check_clusters(topics: Iterable[TopicPlan]) -> Iterator[Check]:
    """Yield whether the clusters of topics answer, with the settings of an administrator's client."""
    if importlib.util.find_spec("confluent_kafka") is None:
        return  # reported by verification
    clusters = {found.servers: found for found in (connections(each.options, each.channel_options) for each in topics)}
    for servers, found in sorted(clusters.items()):
        yield _check(f"Kafka {servers}", found)


def _check(subject: str, found: Connections) -> Check:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    last = _LastMessage()
    client: AdminClient | None = None
    try:
        client = AdminClient(dict(found.admin.librdkafka), logger=last.logger)
        cluster = client.describe_cluster(request_timeout=_PATIENCE).result(_PATIENCE * 2)
    except (KafkaException, TimeoutError, ValueError) as error:
        if client is not None:
            client.poll(0)  # hands over the messages
        cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        detail = f"the cluster does not answer: {last.text or cause}"
        help = "check that the servers run and can be reached, and the settings of the cluster (`flow config`)"
        return Check(subject, State.ERROR, detail, help)
    count = len(cluster.nodes)
    return Check(subject, State.OK, f"{count} broker{'' if count == 1 else 's'}")


class _LastMessage(logging.Handler):
    """Keeps the last message of librdkafka, which has the reason why a broker cannot be reached."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.logger = logging.Logger("streamlets.kafka.check")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, without the name of the thread that librdkafka puts first."""
        self.text = record.getMessage().rpartition("]: ")[2]
