"""`Catalog`: what can be asked about streamlets and channels before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from blueprint.catalog.channels import ChannelTraits
from blueprint.catalog.requests import LoadFailure, StreamletRequest
from blueprint.catalog.streamlets import StreamletDescriptor
from blueprint.diagnostics import Span


class Catalog(Protocol):
    """Describes streamlets and channels."""

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """Describe a streamlet as configured. Mistakes of the user never raise."""

    def classes(self, directory: str) -> tuple[str, ...]:
        """Return the class paths of all streamlets in the directory of a project, sorted."""

    def unused(self, directory: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """Return the class paths of unused streamlets of a project, with the places of their names.

        Streamlets in `used` or in another blueprint of the directory are used. A directory that would take long to
        search has no unused streamlets.
        """

    def channels(self) -> Mapping[str, ChannelTraits]:
        """Return the traits of all channels by name."""
