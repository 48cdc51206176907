"""The codes of misuse are codes of findings."""

from __future__ import annotations

import re
from pathlib import Path

from blueprint.diagnostics.codes import CODES, FAMILIES
from tests.diagnostics.specification import cases

ROOT = Path(__file__).resolve().parents[3]
PAGES, SPECIFICATION = ROOT / "docs" / "diagnostics", ROOT / "tests" / "diagnostics" / "plans.md"


def test_codes_of_misuse_are_registered() -> None:
    """Each is the code of a finding."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "streamlets").rglob("*.py")]
    codes = {code for text in sources for code in re.findall(r'\bcode="([a-z-]+)"', text)}
    assert {"query-lost", "outlet-written-twice", "action-in-logic"} <= codes
    assert codes - set(CODES) == set()


def test_each_code_of_logic_has_an_example() -> None:
    """The example is a report of `--plans` on its page or in the specification."""
    texts = [path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")]
    reports = [text for text in texts if "`flow verify --plans`" in text]
    reports += [case.expected for case in cases(SPECIFICATION)]
    shown = {code for text in reports for code in re.findall(r"^\w+\[([a-z-]+)\]:", text, re.MULTILINE)}
    assert set(FAMILIES["Logic: with `--plans`"]) - shown == set()
