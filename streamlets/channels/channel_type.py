"""`ChannelType`: a kind of channel, as it is registered."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    from blueprint.catalog import ChannelTraits
    from blueprint.plan import TopicPlan
    from streamlets.channels.base import Channel
    from streamlets.checks import Check


class ChannelType(abc.ABC):
    """A kind of channel, as it is registered."""

    traits: ClassVar[ChannelTraits]

    def check(self, topics: Sequence[TopicPlan]) -> Iterable[Check]:
        """Check whether the servers of topics answer; a channel without servers has nothing to check.

        Arguments:
            topics: topics on this channel.
        """
        return ()

    @abc.abstractmethod
    def open(self, directory: Path) -> Channel:
        """Return the channel of an application.

        Arguments:
            directory: the application's directory for topics. Channels share it: one that stores files there uses
                subdirectories of its own.
        """
