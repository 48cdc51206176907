"""The traits of the delta channel."""

from __future__ import annotations

from blueprint.catalog import ChannelTraits
from streamlets.channels.delta.settings import SETTINGS

TRAITS = ChannelTraits(
    name="delta", reserved=(".", "_"), settings=SETTINGS, splits=True, purges=True, copies=True, ranges=True,
    snapshots=True, deletes=True,
)  # fmt: skip
