"""The channel over SQLite passes the suite of all channels."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlite_channel import SqliteChannelType

from streamlets.testkit.channels import ChannelSuite
from tests.installed import installed_channel


class TestSqlite(ChannelSuite):
    """As its author runs it."""

    channel = SqliteChannelType()

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install the package."""
        installed_channel("sqlite", tmp_path, monkeypatch)
