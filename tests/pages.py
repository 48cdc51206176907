"""The pages of the documentation and their blocks, for tests that produce what the pages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    """Return the text of a page, which is named by its path in the repository."""
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> Iterator[str]:
    """Yield the blocks of a page in one of some languages."""
    for match in BLOCK.finditer(text_of(page)):
        if match[1] in languages:
            yield match[2]
