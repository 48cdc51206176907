"""The available channels: the channels of this package, and channels that other packages register.

A package registers a channel by an entry point of the group `streamlets.channels`: its name is the name of the channel,
its value a `ChannelType` without arguments, such as `my_package.channel:MyChannelType`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamlets.plugins import Plugins

if TYPE_CHECKING:
    from streamlets.channels.channel_type import ChannelType

DEFAULT = "delta"

CHANNEL_TYPES: Mapping[str, ChannelType] = Plugins(
    "streamlets.channels",
    "channel",
    {
        DEFAULT: "streamlets.channels.delta.type:DeltaChannelType",
        "kafka": "streamlets.channels.kafka.type:KafkaChannelType",
    },
    requires=("traits", "open"),
)
"""The available channels by name."""
