"""What differs between a topic as the blueprint sets it and as it exists in a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streamlets.channels.base import Difference
from streamlets.channels.kafka.cluster_client import Existing
from streamlets.channels.kafka.topic_settings import TopicSettings

PARTITIONS = "topic.partitions"
REPLICAS = "topic.replicas"
CONFIG = "topic."
"""The prefix of the configuration of a topic in the blueprint."""

_DELETING = {"retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"}
_POLICY = "cleanup.policy"
_UNLIMITED = -1


def differences(settings: TopicSettings, existing: Existing, config: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the differences, partitions and replicas first.

    Arguments:
        settings: the settings of the blueprint.
        existing: the topic.
        config: its effective configuration, by Kafka's names.
    """
    yield from _partitions(settings.partitions, existing.partitions)
    yield from _replicas(settings.replicas, existing.replicas)
    for name, planned in sorted(settings.config.items()):
        if not _equal(name, planned, config.get(name)):
            yield _entry(name, planned, config.get(name))


def _partitions(planned: int | None, existing: int) -> Iterator[Difference]:
    if planned is None or planned == existing:
        return
    if planned > existing:
        warning = "partitions cannot be removed again, and later records of a key may be in another partition"
        yield Difference(PARTITIONS, str(planned), str(existing), warning=warning)
    else:
        help = f"set `{PARTITIONS} = {existing}`; Kafka cannot remove partitions of a topic"
        yield Difference(PARTITIONS, str(planned), str(existing), alterable=False, help=help)


def _replicas(planned: int | None, existing: int) -> Iterator[Difference]:
    if planned is not None and planned != existing:
        help = f"move the replicas with `kafka-reassign-partitions`, or set `{REPLICAS} = {existing}`"
        yield Difference(REPLICAS, str(planned), str(existing), alterable=False, help=help)


def _entry(name: str, planned: str, existing: str | None) -> Difference:
    if existing is None:
        help = f"correct or remove the setting; this cluster has no configuration `{name}` of topics"
        return Difference(CONFIG + name, planned, None, alterable=False, help=help)
    warning = "the cluster may delete records" if _may_delete(name, planned, existing) else ""
    return Difference(CONFIG + name, planned, existing, warning=warning)


def _may_delete(name: str, planned: str, existing: str) -> bool:
    if name == _POLICY:
        return True
    try:
        return name in _DELETING and int(planned) != _UNLIMITED and not _UNLIMITED < int(existing) <= int(planned)
    except ValueError:
        return True


def _equal(name: str, planned: str, existing: str | None) -> bool:
    if existing is None:
        return False
    if name == _POLICY:
        return {part.strip() for part in planned.split(",")} == {part.strip() for part in existing.split(",")}
    try:
        return float(planned) == float(existing)
    except ValueError:
        return planned.strip().lower() == existing.strip().lower()
