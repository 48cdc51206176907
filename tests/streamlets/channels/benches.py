"""The channels that the tests of other packages run on, each opened for a test by a bench."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from sqlite_channel import SqliteChannelType

from streamlets.channels.base import Position, TopicResource
from streamlets.channels.kafka.offsets import Offsets
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.override import override
from streamlets.testkit.channels import ChannelBench


class KafkaBench(ChannelBench):
    """The Kafka channel, on the broker that all tests share."""

    @property
    @override
    def settings(self) -> Mapping[str, object]:
        """One partition, so that the records of a topic have an order."""
        return {"bootstrap.servers": self.request.getfixturevalue("kafka_broker"), "topic.partitions": 1}

    @override
    def add_invalid(self, topic: TopicResource) -> None:
        assert isinstance(topic, KafkaTopic)
        topic.cluster.send(topic.name, [(b"k", b"garbage")])

    @override
    def lose(self, topic: TopicResource, until: Position) -> None:
        assert isinstance(topic, KafkaTopic)
        topic.cluster.delete_records(topic.name, Offsets.from_position(until).partitions)

    @override
    def shown_progress(self, topic: TopicResource, group: str) -> Position | None:
        admin = AdminClient({"bootstrap.servers": str(self.settings["bootstrap.servers"])})
        (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        partitions = {part.partition: part.offset for part in future.result(60).topic_partitions}
        return Offsets(topic.plan.name, partitions).to_position() if partitions else None

    @property
    @override
    def late_options(self) -> Mapping[str, object]:
        return {"deduplicate.by-headers": True}

    @property
    @override
    def altered(self) -> Mapping[str, object]:
        return {"topic": {"retention.ms": 86_400_000}}


def kafka_bench(request: pytest.FixtureRequest, directory: Path) -> KafkaBench:
    """Return the Kafka channel in a directory."""
    return KafkaBench(CHANNEL_TYPES["kafka"], directory, request)


BENCHES = {"delta": CHANNEL_TYPES["delta"], "sqlite": SqliteChannelType()}
"""Channels without servers, by name."""


@pytest.fixture(params=[*BENCHES, pytest.param("kafka", marks=pytest.mark.spark)])  # the broker needs Java
def channel_bench(request: pytest.FixtureRequest, tmp_path: Path) -> ChannelBench:
    """Return a bench of each channel."""
    if request.param == "kafka":
        return kafka_bench(request, tmp_path)
    return ChannelBench(BENCHES[request.param], tmp_path, request)
