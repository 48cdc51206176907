"""What a topic has from its cluster: its connection, and its layout where it sets none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamlets.channels.base import UnknownConnectionError
from streamlets.channels.kafka.client_settings import java_settings, librdkafka_settings
from streamlets.channels.kafka.settings import CLUSTER

DEFAULT_CLUSTER = "default"
SERVERS = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Connection:
    """The settings of a client, in the notation of each.

    Arguments:
        java: for Spark's source and sink, without the prefix `kafka.`.
        librdkafka: for confluent-kafka.
    """

    java: Mapping[str, str] = field(default_factory=dict)
    librdkafka: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connections:
    """The connections of a topic.

    Arguments:
        admin: for requests about topics and groups.
        consumer: for reading records.
        producer: for writing records.
    """

    admin: Connection
    consumer: Connection
    producer: Connection

    @property
    def servers(self) -> str:
        """The servers of the cluster, which distinguish it from other clusters."""
        return self.admin.java[SERVERS]


def connections(options: Mapping[str, Any], channel_options: Mapping[str, Any]) -> Connections:
    """Return the connections of a topic.

    Settings of the topic override settings of its cluster, and settings of producers and consumers override both.
    A topic with servers of its own has none of the settings of a cluster.

    Arguments:
        options: the settings of the topic; see `TopicPlan.options`.
        channel_options: the settings of the channel; see `TopicPlan.channel_options`.

    Raises:
        UnknownConnectionError: the topic has no servers.
    """
    cluster = cluster_options(options, channel_options)
    common = client_settings(cluster, "connection-config") | client_settings(options, "connection-config")
    if servers := own_servers(options) or own_servers(cluster):
        common[SERVERS] = servers
    if SERVERS not in common:
        raise UnknownConnectionError("the topic has neither `bootstrap.servers` nor a cluster with servers")

    def connection(group: str = "") -> Connection:
        settings = common | client_settings(cluster, group) | client_settings(options, group) if group else common
        return Connection(java_settings(settings), librdkafka_settings(settings))

    return Connections(connection(), connection("consumer-config"), connection("producer-config"))


def layout(options: Mapping[str, Any], channel_options: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the numbers of partitions and of replicas of a topic; None for the default of the servers."""
    settings = cluster_options(options, channel_options) | dict(options)
    return settings.get("topic.partitions"), settings.get("topic.replicas")


def cluster_options(options: Mapping[str, Any], channel_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a topic's cluster; none for a topic with servers of its own, or an unknown cluster."""
    if own_servers(options):
        return {}
    return dict(channel_options.get("clusters", {}).get(cluster_name(options), {}))


def cluster_name(options: Mapping[str, Any]) -> str:
    """Return the name of a topic's cluster."""
    return str(CLUSTER.of(options) or DEFAULT_CLUSTER)


def own_servers(options: Mapping[str, Any]) -> str | None:
    """Return the servers that a topic or a cluster sets, as `bootstrap.servers` or in its `connection-config`."""
    servers = options.get(SERVERS) or options.get("connection-config", {}).get(SERVERS)
    return str(servers) if servers else None


def client_settings(options: Mapping[str, Any], group: str) -> dict[str, str]:
    """Return the settings of a group as Kafka's clients expect them."""
    return {key: _text(value) for key, value in options.get(group, {}).items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
