"""The codes that misuse carries are those of findings."""

from __future__ import annotations

import re
from pathlib import Path

from blueprint.diagnostics.codes import CODES, FAMILIES
from tests.diagnostics.specification import cases

ROOT = Path(__file__).resolve().parents[3]
PAGES, SPECIFICATION = ROOT / "docs" / "diagnostics", ROOT / "tests" / "diagnostics" / "plans.md"


def test_misuse_carries_codes_that_there_are() -> None:
    """A finding is made of each, so each must be registered."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "streamlets").rglob("*.py")]
    given = {code for text in sources for code in re.findall(r'\bcode="([a-z-]+)"', text)}
    assert {"query-lost", "outlet-written-twice", "action-in-logic"} <= given
    assert given - set(CODES) == set()


def test_each_code_of_logic_is_shown() -> None:
    """Its page reports it from `--plans`, or a case of the specification does."""
    texts = [path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")]
    reports = [text for text in texts if "`flow verify --plans`" in text]
    reports += [case.expected for case in cases(SPECIFICATION)]
    shown = {code for text in reports for code in re.findall(r"^\w+\[([a-z-]+)\]:", text, re.MULTILINE)}
    assert set(FAMILIES["Logic: with `--plans`"]) - shown == set()
