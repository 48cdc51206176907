"""The page about clusters: its table of defaults is the table of the code."""

from __future__ import annotations

import os
from pathlib import Path

from blueprint.masters import DEFAULTS, KINDS

PAGE = Path(__file__).parents[2] / "docs" / "spark-clusters.md"
_START, _END = "<!-- settings -->\n", "<!-- end of settings -->"
_TITLES = {"local": "on this machine", "standalone": "standalone", "kubernetes": "Kubernetes", "yarn": "YARN"}


def _table() -> str:
    rows = [["setting", "Spark's setting", *(_TITLES[kind] for kind in KINDS)], ["---"] * (2 + len(KINDS))]
    for row in DEFAULTS:
        names = ", ".join(f"`{name}`" for name in row.spark)
        rows.append([f"`{row.key}`", names, *(_cell(row.shown(kind)) for kind in KINDS)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _cell(text: str) -> str:
    return text if " " in text or text.startswith("`") or not text else f"`{text}`"


def test_the_table_of_defaults_is_current() -> None:
    """The page shows the default of each setting for each kind of master."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_START)
    shown, _, after = rest.partition(_END)
    if os.environ.get("UPDATE_EXPECTED"):
        PAGE.write_text(before + _START + _table() + _END + after, encoding="utf-8")
        return
    assert shown == _table()
