"""The channels that are available: those of this package, and those that other packages register.

A package registers a channel by an entry point of the group `streamlets.channels`: its name is that of the channel, its
value a `ChannelType` without arguments, such as `my_package.channel:MyChannelType`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from streamlets.channels.base import ChannelType

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "streamlets.channels"
DEFAULT = "delta"
_BUILT_IN = {DEFAULT: "streamlets.channels.delta.type:DeltaChannelType"}


class ChannelTypes(Mapping[str, ChannelType]):
    """The available channels by name. Other packages are searched only for a channel that is not built in."""

    def __getitem__(self, name: str) -> ChannelType:
        """Return a channel type.

        Raises:
            KeyError: no package registers the channel.
        """
        return _channel_type(_BUILT_IN.get(name) or _registered()[name].value)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*_BUILT_IN, *_registered()}))

    def __len__(self) -> int:
        return len({*_BUILT_IN, *_registered()})


CHANNEL_TYPES = ChannelTypes()


def _registered() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    return {entry.name: entry for entry in entry_points(group=GROUP)}


@functools.cache
def _channel_type(path: str) -> ChannelType:
    module, _, name = path.partition(":")
    channel_type: ChannelType = getattr(importlib.import_module(module), name)()
    return channel_type
