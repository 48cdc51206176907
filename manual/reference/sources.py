"""The page of the sources: the tables of `docs/sources.md`, which a test compares with the registry."""

from __future__ import annotations

import re

from manual.repository import REPOSITORY

_TABLES = re.compile(r"<!-- sources -->\n(.*?)<!-- end of sources -->", re.DOTALL)


def sources_page() -> str:
    """Return the page."""
    tables = _TABLES.search((REPOSITORY / "docs" / "sources.md").read_text(encoding="utf-8"))
    assert tables is not None, "docs/sources.md has no tables of sources"
    return f"# Sources\n\nWhat `streamlets.Source` reads; [the guide](../docs/sources.md) explains them.\n{tables[1]}"
