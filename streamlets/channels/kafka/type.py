"""The registration of the Kafka channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.channel_type import ChannelType
from streamlets.channels.kafka.traits import TRAITS
from streamlets.override import override

if TYPE_CHECKING:
    from blueprint.plan import TopicPlan
    from streamlets.channels.base import Channel
    from streamlets.checks import Check


class KafkaChannelType(ChannelType):
    """The Kafka channel: topics are topics of a Kafka cluster."""

    traits = TRAITS

    @override
    def check(self, topics: Sequence[TopicPlan]) -> Iterable[Check]:
        from streamlets.channels.kafka.reachability import check_clusters

        return check_clusters(topics)

    @override
    def open(self, directory: Path) -> Channel:
        from streamlets.channels.kafka.channel import KafkaChannel

        return KafkaChannel(directory)
