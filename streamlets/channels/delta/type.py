"""The registration of the delta channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.catalog import ChannelTraits
from streamlets.channels.delta.settings import SETTINGS

if TYPE_CHECKING:
    from blueprint.plan import TopicPlan
    from streamlets.channels.base import Channel
    from streamlets.checks import Check


class DeltaChannelType:
    """The delta channel: topics are Delta tables in the state directory, without a server."""

    traits = ChannelTraits(name="delta", real_time=False, reserved=(".", "_"), settings=SETTINGS)

    def check(self, topics: Sequence[TopicPlan]) -> Iterable[Check]:
        """Check nothing: the channel has no servers."""
        return ()

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application; see `ChannelType.open`."""
        from streamlets.channels.delta.channel import DeltaChannel

        return DeltaChannel(directory)
