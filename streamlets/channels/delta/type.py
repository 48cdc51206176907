"""The registration of the delta channel."""

from __future__ import annotations

from pathlib import Path

from blueprint.catalog import ChannelTraits
from streamlets.channels.base import Channel


class DeltaChannelType:
    """The delta channel: topics are Delta tables in the state directory, without a server."""

    traits = ChannelTraits(name="delta", topic_keys={}, real_time=False, reserved=(".", "_"))

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application; see `ChannelType.open`."""
        from streamlets.channels.delta.channel import DeltaChannel

        return DeltaChannel(directory)
