"""The channel over Redis Streams passes the suite of all channels, and says what is wrong with its server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from redis_channel import RedisChannelType

from streamlets.override import override
from streamlets.testkit.channels import ChannelBench, ChannelSuite
from tests.installed import installed_channel


class RedisBench(ChannelBench):
    """The channel on a server of the tests."""

    @property
    @override
    def settings(self) -> Mapping[str, object]:
        return {"url": self.request.getfixturevalue("redis_server")}


class TestRedis(ChannelSuite):
    """As its author runs it."""

    channel = RedisChannelType()
    bench = RedisBench

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install the package."""
        installed_channel("redis", tmp_path, monkeypatch)
