"""The registration of the delta channel."""

from __future__ import annotations

from pathlib import Path

from blueprint.catalog import ChannelTraits
from streamlets.channels.base import Channel
from streamlets.channels.delta.settings import SETTINGS
from streamlets.channels.kafka.settings import SETTINGS as KAFKA_SETTINGS


class DeltaChannelType:
    """The delta channel: topics are Delta tables in the state directory, without a server."""

    traits = ChannelTraits(
        name="delta", real_time=False, reserved=(".", "_"),
        settings=(*SETTINGS, *KAFKA_SETTINGS),  # the latter have no effect: blueprints for Kafka run on this channel
    )  # fmt: skip

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application; see `ChannelType.open`."""
        from streamlets.channels.delta.channel import DeltaChannel

        return DeltaChannel(directory)
