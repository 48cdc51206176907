"""Import the examples' modules as their applications do: from the blueprint's directory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.fixture(autouse=True)
def examples_importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the examples first on the path, and remove their modules afterwards, for tests that import copies. The
    channels are packages, which all tests import as installed ones."""
    for example in ("changes", "flights", "resilience", "sensors"):
        monkeypatch.syspath_prepend(EXAMPLES / example)
    yield
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        if file.is_relative_to(EXAMPLES) and not file.is_relative_to(EXAMPLES / "channels"):
            del sys.modules[name]
