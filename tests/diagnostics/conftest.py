"""A second channel, so that applications of the specification can be on several."""

from pathlib import Path

import pytest

from tests.installed import installed_channel


@pytest.fixture(autouse=True)
def sqlite_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the channel `sqlite`."""
    installed_channel("sqlite", tmp_path / "packages", monkeypatch)
