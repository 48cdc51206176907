"""The reference, generated from the code: what exists, with its own descriptions, is what the pages list."""

from __future__ import annotations

from manual.reference.api import api_page
from manual.reference.channels import channels_page
from manual.reference.commands import commands_page
from manual.reference.settings import settings_page
from manual.reference.sinks import sinks_page
from manual.reference.sources import sources_page
from manual.reference.streamlets import streamlets_page
from manual.reference.triggers import triggers_page

API_PACKAGES = (
    "streamlets",
    "streamlets.testkit",
    "streamlets.testkit.channels",
    "streamlets.egress",
    "streamlets.ingress.sources",
    "streamlets.channels.base",
    "streamlets.channels.small",
)
"""The packages whose names authors import."""


def reference_pages() -> dict[str, str]:
    """Return the text of each generated page by its path on the site."""
    return {
        "reference/commands.md": commands_page(),
        "reference/settings.md": settings_page(),
        "reference/streamlets.md": streamlets_page(),
        "reference/sources.md": sources_page(),
        "reference/sinks.md": sinks_page(),
        "reference/channels.md": channels_page(),
        "reference/triggers.md": triggers_page(),
        **{f"reference/{package}-api.md": api_page(package) for package in API_PACKAGES},
    }
