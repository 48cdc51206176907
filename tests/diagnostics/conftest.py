"""A second channel, so that applications of the specification can be on several."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def toy_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the channel `toy` on the path, as an installation does."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent.parent / "toy_channel"))
