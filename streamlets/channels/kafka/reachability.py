"""Checks that Kafka clusters answer, and that they accept transactions as long as the settings ask for."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from blueprint.plan import TopicPlan
from blueprint.wording import counted
from streamlets.channels.kafka.client_settings import DEFAULT_TRANSACTION_TIMEOUT, TRANSACTION_TIMEOUT
from streamlets.channels.kafka.cluster import Connections, connections
from streamlets.checks import Check, State

# Seconds until a cluster that does not answer counts as unreachable.
_PATIENCE = 10.0
_POLL = 0.05


def check_clusters(topics: Iterable[TopicPlan]) -> Iterator[Check]:
    """Yield whether the clusters of topics answer, with the settings of an administrator's client.

    A cluster that answers is asked whether it accepts the transactions of writers, too.
    """
    if importlib.util.find_spec("confluent_kafka") is None:
        return  # reported by verification
    clusters: dict[str, Connections] = {}
    timeouts: dict[str, int] = {}
    for topic in topics:
        found = connections(topic.options, topic.channel_options)
        clusters[found.servers] = found
        if topic.producers:
            timeouts[found.servers] = max(timeouts.get(found.servers, 0), transaction_timeout(found))
    for servers, found in sorted(clusters.items()):
        yield from _check(f"Kafka {servers}", found, timeouts.get(servers))


def transaction_timeout(found: Connections) -> int:
    """Return the milliseconds that a transaction of a writer may take."""
    value = found.producer.librdkafka.get(TRANSACTION_TIMEOUT, "")
    return int(value) if value.strip().isdecimal() else DEFAULT_TRANSACTION_TIMEOUT


def transaction_problem(settings: Mapping[str, str], brokers: int, timeout: int) -> tuple[str, str] | None:
    """Return why a cluster does not accept the transactions of writers, and what to do; None if it does.

    Arguments:
        settings: the settings of a broker.
        brokers: the number of brokers.
        timeout: the milliseconds that a transaction may take.
    """
    longest, stored = settings.get("transaction.max.timeout.ms", ""), settings.get("transaction.state.log.min.isr", "")
    if longest.isdecimal() and timeout > int(longest):
        accepted = f"the brokers accept up to {longest} (`transaction.max.timeout.ms`)"
        help = f"set `producer-config.{TRANSACTION_TIMEOUT}` to at most that"
        return f"`{TRANSACTION_TIMEOUT}` is {timeout}, and {accepted}", help
    if stored.isdecimal() and brokers < int(stored):
        needed = f"{counted(int(stored), 'broker')} must store their state (`transaction.state.log.min.isr`)"
        help = "add brokers, or set it and `transaction.state.log.replication.factor` to their number"
        return f"{needed}, and the cluster has {counted(brokers, 'broker')}", help
    return None


def _check(subject: str, found: Connections, timeout: int | None) -> Iterator[Check]:
    """Yield whether a cluster answers; with the timeout of writers, also whether it accepts their transactions."""
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
            nodes = answer.result(_PATIENCE).nodes
            yield Check(subject, State.OK, counted(len(nodes), "broker"))
            if timeout is not None and (problem := transaction_problem(_settings(client, nodes), len(nodes), timeout)):
                detail = f"the cluster does not accept transactions of this application: {problem[0]}"
                help = f"{problem[1]}; outlets with `guarantee = exactly-once`, spouts and replays need them"
                yield Check(f"{subject} transactions", State.WARNING, detail, help)
            return
        detail = f"the cluster refuses the connection: {refusals[0].str()}"
        help = "correct the user, the password or the certificates in the settings of the cluster (`flow config`)"
        yield Check(subject, State.ERROR, detail, help, lasting=True)
    except (KafkaException, TimeoutError, ValueError) as error:
        cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        detail = f"the cluster does not answer: {last.text or cause}"
        help = "check that the servers run and can be reached, and the settings of the cluster (`flow config`)"
        yield Check(subject, State.ERROR, detail, help, lasting=isinstance(error, ValueError))


def _settings(client: Any, nodes: Iterable[Any]) -> Mapping[str, str]:
    """Return the settings of a broker; none if the application is not allowed to see them."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource

    resource = ConfigResource(ConfigResource.Type.BROKER, str(next(iter(nodes)).id))
    (future,) = client.describe_configs([resource], request_timeout=_PATIENCE).values()
    try:
        return {name: str(entry.value) for name, entry in future.result(_PATIENCE).items()}
    except (KafkaException, TimeoutError):
        return {}


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
