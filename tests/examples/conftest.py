"""The examples' modules are imported as their applications do it: from the blueprint's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.fixture(autouse=True)
def examples_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever project another test left behind, the examples' modules are found."""
    for example in ("flights", "resilience", "sensors"):
        monkeypatch.syspath_prepend(EXAMPLES / example)
