"""All codes are used; `tests/diagnostics/test_pages.py` checks that codes and pages are the same list."""

from __future__ import annotations

from pathlib import Path

from blueprint.diagnostics.codes import CODES

ROOT = Path(__file__).parent.parent.parent.parent


def test_every_code_is_used() -> None:
    """A code that no source mentions would never be reported."""
    sources = [*(ROOT / "blueprint").rglob("*.py"), *(ROOT / "streamlets").rglob("*.py"), *(ROOT / "cli").rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in sources if path.name != "codes.py")
    assert [code for code in CODES if f'"{code}"' not in texts] == []
