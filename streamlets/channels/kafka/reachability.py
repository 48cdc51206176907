"""Checks that Kafka clusters answer."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Iterator

from blueprint.plan import TopicPlan
from blueprint.wording import counted
from streamlets.channels.kafka.cluster import Connections, connections
from streamlets.checks import Check, State

# Seconds until a cluster that does not answer counts as unreachable.
_PATIENCE = 10.0
_POLL = 0.05


def check_clusters(topics: Iterable[TopicPlan]) -> Iterator[Check]:
    """Yield whether the clusters of topics answer, with the settings of an administrator's client."""
    if importlib.util.find_spec("confluent_kafka") is None:
        return  # reported by verification
    clusters = {
        found.servers: found for found in (connections(topic.options, topic.channel_options) for topic in topics)
    }
    for servers, found in sorted(clusters.items()):
        yield _check(f"Kafka {servers}", found)


def _check(subject: str, found: Connections) -> Check:
    from confluent_kafka import KafkaError, KafkaException

    from streamlets.channels.kafka.admin_client import AdminClient

    # What the client repeats in vain until the request has timed out.
    lasting_codes = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 - librdkafka's own errors
    last, refusals = _LastMessage(), list[KafkaError]()

    def note(error: KafkaError) -> None:
        if error.code() in lasting_codes:
            refusals.append(error)

    try:
        client = AdminClient({**found.admin.librdkafka, "error_cb": note}, logger=last.logger)
        answer = client.describe_cluster(request_timeout=_PATIENCE)
        while not answer.done() and not refusals:
            client.poll(_POLL)  # hands over messages and errors
        if not refusals:
            count = len(answer.result(_PATIENCE).nodes)
            return Check(subject, State.OK, counted(count, "broker"))
        detail = f"the cluster refuses the connection: {refusals[0].str()}"
        help = "correct the user, the password or the certificates in the settings of the cluster (`flow config`)"
        return Check(subject, State.ERROR, detail, help, lasting=True)
    except (KafkaException, TimeoutError, ValueError) as error:
        cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        detail = f"the cluster does not answer: {last.text or cause}"
        help = "check that the servers run and can be reached, and the settings of the cluster (`flow config`)"
        return Check(subject, State.ERROR, detail, help, lasting=isinstance(error, ValueError))


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
