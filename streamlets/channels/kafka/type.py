"""The registration of the Kafka channel."""

from __future__ import annotations

from pathlib import Path

from streamlets.channels.base import Channel
from streamlets.channels.kafka.traits import TRAITS


class KafkaChannelType:
    """The Kafka channel: topics are those of a Kafka cluster."""

    traits = TRAITS

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application; see `ChannelType.open`."""
        from streamlets.channels.kafka.channel import KafkaChannel

        return KafkaChannel(directory)
