"""The page of the sinks: the tables of `docs/sinks.md`, which a test compares with the registry."""

from __future__ import annotations

import re

from manual.repository import REPOSITORY

_TABLES = re.compile(r"<!-- sinks -->\n(.*?)<!-- end of sinks -->", re.DOTALL)


def sinks_page() -> str:
    """Return the page."""
    tables = _TABLES.search((REPOSITORY / "docs" / "sinks.md").read_text(encoding="utf-8"))
    assert tables is not None, "docs/sinks.md has no tables of sinks"
    return f"# Sinks\n\nWhere `streamlets.Sink` writes; [the guide](../docs/sinks.md) explains them.\n{tables[1]}"
