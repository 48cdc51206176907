"""Regular expressions use only features that are correct in every supported Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
MODULES = [
    path
    for package in ("blueprint", "streamlets", "cli")
    for path in sorted((REPOSITORY / package).rglob("*.py"))
    if re.search(r"^import re$", path.read_text(encoding="utf-8"), re.MULTILINE)
]
POSSESSIVE = re.compile(r"(?<!\\)(?:\\\\)*[*+?}]\+|\(\?>")


def possessive(source: str) -> list[str]:
    """Return the strings of a module that have a possessive quantifier or an atomic group."""
    strings = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [string for string in strings if isinstance(string, str) and POSSESSIVE.search(string)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_possessive_quantifiers(path: Path) -> None:
    """Python before 3.11.5 has bugs in possessive quantifiers and atomic groups: gh-100061, gh-106052."""
    assert possessive(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("pattern", ["a++", "(?:ab)*+", "a?+", "a{2}+", "(?>a)", r"\\++"])
def test_possessive_quantifiers_are_recognised(pattern: str) -> None:
    """Each form is recognised, also as a part of an f-string."""
    assert possessive(f"p = {pattern!r}")
    assert possessive(f"p = rf'{{x}}{pattern.replace('{', '{{').replace('}', '}}')}'")


@pytest.mark.parametrize("pattern", [r"\++", r"[+*?]", r"\?\+", "a+", "(?:a+)+"])
def test_other_quantifiers_are_not(pattern: str) -> None:
    """A literal `+` or `?` may be repeated."""
    assert not possessive(f"p = {pattern!r}")
