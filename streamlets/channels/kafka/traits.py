"""The traits of the kafka channel for verification: its settings, and problems with the settings of a topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blueprint.catalog import ChannelTraits, TopicProblem, TopicSettings
from blueprint.spelling import did_you_mean, listing
from streamlets.channels.kafka.client_settings import mismatches
from streamlets.channels.kafka.cluster import (
    DEFAULT_CLUSTER,
    SERVERS,
    client_settings,
    cluster_name,
    cluster_options,
    layout,
    own_servers,
)
from streamlets.channels.kafka.connector import CONNECTOR
from streamlets.channels.kafka.inlet_problems import inlet_problems
from streamlets.channels.kafka.known_settings import CLIENT
from streamlets.channels.kafka.outlet_problems import outlet_problems
from streamlets.channels.kafka.requirements import unmet
from streamlets.channels.kafka.setting_problems import (
    known_problems,
    servers_problems,
    topic_problems,
    transaction_problems,
)
from streamlets.channels.kafka.settings import CLUSTER_SETTINGS, SETTINGS

CHANNEL = "kafka"
_COMMON = "connection-config"
_GROUPS = (_COMMON, "producer-config", "consumer-config")
_OWN = {
    "auto.offset.reset": "set the inlet's `starting` instead",
    "enable.auto.commit": "remove it: offsets are committed after each batch",
    "enable.idempotence": "remove it",
    "group.id": "remove it: the group is named after the application, the streamlet and the inlet",
    "group.protocol": "remove it",
    "interceptor.classes": "remove it",
    "isolation.level": "remove it: only committed records are read",
    "key.deserializer": "remove it",
    "key.serializer": "remove it",
    "transactional.id": "remove it",
    "value.deserializer": "set the topic's `format` instead",
    "value.serializer": "set the topic's `format` instead",
}
"""Client settings that the channel sets itself, and what to do instead."""


def problems(topic: TopicSettings) -> Iterator[TopicProblem]:
    """Yield problems with the cluster of a topic, and with its client settings."""
    yield from _cluster_problems(topic)
    yield from _client_problems(topic)
    yield from topic_problems(topic)


def location(topic: TopicSettings) -> str:
    """Return the servers of a topic; empty if it has none, which is a problem."""
    servers = own_servers(topic.options) or own_servers(cluster_options(topic.options, topic.channel_options))
    return ",".join(sorted(server.strip() for server in servers.split(","))) if servers else ""


def _cluster_problems(topic: TopicSettings) -> Iterator[TopicProblem]:
    clusters = _clusters(topic)
    name = cluster_name(topic.options)
    if servers := own_servers(topic.options):
        yield from servers_problems(servers, tuple(SERVERS.split(".")))
        return
    if name not in clusters and name != DEFAULT_CLUSTER:
        defined = f"known clusters: {listing(sorted(clusters))}" if clusters else "no cluster is defined"
        yield TopicProblem(
            "unknown-cluster",
            ("cluster",),
            f"there is no Kafka cluster `{name}`",
            causes=(defined,),
            help=did_you_mean(name, clusters)
            or (f'define the cluster: `flow.kafka.clusters.{name}.bootstrap.servers = "host:port"`',),
        )
    elif name not in clusters:
        yield TopicProblem(
            "servers-missing",
            ("channel",),
            "the Kafka cluster `default` is not defined, and has no servers",
            causes=("a topic without servers and a cluster of its own is in this cluster",),
            help=('set `flow.kafka.clusters.default.bootstrap.servers = "host:port"` for all topics',),
        )
    elif not own_servers(clusters[name]):
        yield TopicProblem(
            "servers-missing",
            (CHANNEL, "clusters", name),
            f"the Kafka cluster `{name}` has no servers",
            help=(f'set `flow.kafka.clusters.{name}.bootstrap.servers = "host:port"`',),
            about="key",
        )
    else:
        yield from servers_problems(str(own_servers(clusters[name])), (CHANNEL, "clusters", name, *SERVERS.split(".")))


def _client_problems(topic: TopicSettings) -> Iterator[TopicProblem]:
    cluster = cluster_options(topic.options, topic.channel_options)
    above = (CHANNEL, "clusters", cluster_name(topic.options))
    reported = set()
    for group in _GROUPS[1:]:
        # A client's settings, each with the path of the one that counts.
        settings: dict[str, str] = {}
        paths: dict[str, tuple[str, ...]] = {}
        for options, prefix, name in (
            (cluster, above, _COMMON),
            (topic.options, (), _COMMON),
            (cluster, above, group),
            (topic.options, (), group),
        ):
            inner = client_settings(options, name)
            settings |= inner
            paths |= {key: (*prefix, name, *key.split(".")) for key in inner}
        transactions = transaction_problems(settings, paths) if group == "producer-config" else ()
        for problem in (*_setting_problems(settings, paths, group), *transactions):
            if problem not in reported:
                reported.add(problem)
                yield problem


def _setting_problems(
    settings: Mapping[str, str], paths: Mapping[str, tuple[str, ...]], group: str
) -> Iterator[TopicProblem]:
    found = mismatches(settings)
    wrong = {mismatch.key for mismatch in found} | {SERVERS, *_OWN}
    others = {key: value for key, value in settings.items() if key not in wrong}
    yield from known_problems(others, paths, CLIENT, "Kafka's clients")
    for mismatch in found:
        yield TopicProblem("client-setting", paths[mismatch.key], mismatch.message, help=(mismatch.help,), about="key")
    for key, help in _OWN.items():
        if key in settings:
            message = f"the client setting `{key}` cannot be set"
            yield TopicProblem(
                "client-setting", paths[key], message, causes=("the channel sets it itself",), help=(help,), about="key"
            )
    if group in paths.get(SERVERS, ()):
        yield TopicProblem(
            "client-setting",
            paths[SERVERS],
            f"`{SERVERS}` cannot be set in `{group}`",
            causes=("producers and consumers of a topic use the same cluster",),
            help=("set `bootstrap.servers` of the topic or its cluster",),
            about="key",
        )


def _clusters(topic: TopicSettings) -> Mapping[str, Any]:
    clusters = topic.channel_options.get("clusters", {})
    assert isinstance(clusters, Mapping)
    return clusters


def partitions(topic: TopicSettings) -> int | None:
    """Return the number of partitions of a topic; None if the servers choose it."""
    return layout(topic.options, topic.channel_options)[0]


TRAITS = ChannelTraits(
    name=CHANNEL,
    real_time=True,
    invalid_records=True,
    loses_records=True,
    late_records=True,
    shows_progress=True,
    splits=True,
    purges=True,
    copies=True,
    deletes=True,
    administration=True,
    reserved=("_",),
    settings=(*SETTINGS, *CLUSTER_SETTINGS),
    location=location,
    problems=problems,
    inlet_problems=inlet_problems,
    outlet_problems=outlet_problems,
    connector=CONNECTOR,
    unmet=unmet,
    exactly_once=False,
    partitions=partitions,
    log_options={
        "topic.partitions": 1,
        "topic": {"retention.ms": -1, "retention.bytes": -1, "cleanup.policy": "delete"},
    },
)
"""The traits of the kafka channel."""
