"""The registration of the Kafka channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import Channel
from streamlets.channels.kafka.traits import TRAITS

if TYPE_CHECKING:
    from blueprint.plan import TopicPlan
    from streamlets.checks import Check


class KafkaChannelType:
    """The Kafka channel: topics are those of a Kafka cluster."""

    traits = TRAITS

    def check(self, topics: Sequence[TopicPlan]) -> Iterable[Check]:
        """Check whether the clusters of topics answer; see `ChannelType.check`."""
        from streamlets.channels.kafka.reachability import check_clusters

        return check_clusters(topics)

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application; see `ChannelType.open`."""
        from streamlets.channels.kafka.channel import KafkaChannel

        return KafkaChannel(directory)
