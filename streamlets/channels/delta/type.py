"""The registration of the delta channel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.channel_type import ChannelType
from streamlets.channels.delta.traits import TRAITS
from streamlets.override import override

if TYPE_CHECKING:
    from streamlets.channels.base import Channel


class DeltaChannelType(ChannelType):
    """The delta channel: topics are Delta tables in the state directory, without a server."""

    traits = TRAITS

    @override
    def open(self, directory: Path) -> Channel:
        from streamlets.channels.delta.channel import DeltaChannel

        return DeltaChannel(directory)
