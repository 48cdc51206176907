"""Codes: used, documented, and well named."""

from __future__ import annotations

import re
from pathlib import Path

from blueprint.diagnostics.codes import CODES

ROOT = Path(__file__).parent.parent.parent.parent


def test_codes_and_docs_are_the_same_list() -> None:
    """`docs/diagnostics.md` has a row for each code, in the code's order, with its severity and meaning."""
    text = (ROOT / "docs/diagnostics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(name, code.severity.value, code.meaning) for name, code in CODES.items()]


def test_every_code_is_given_somewhere() -> None:
    """A code that no source mentions would be a promise nobody keeps."""
    sources = [*(ROOT / "blueprint").rglob("*.py"), *(ROOT / "streamlets").rglob("*.py"), *(ROOT / "cli").rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in sources if path.name != "codes.py")
    assert [code for code in CODES if f'"{code}"' not in texts] == []
