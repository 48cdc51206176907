"""The channel over Redis Streams passes the suite of all channels, and says what is wrong with its server."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from redis_channel import RedisChannelType

from blueprint.catalog import TopicSettings
from blueprint.plan import TopicPlan
from streamlets.channels.base import ChannelUnavailableError, TopicWriteError
from streamlets.checks import State
from streamlets.override import override
from streamlets.testkit.channels import READING, ChannelBench, ChannelSuite
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


def url_problems(**urls: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the codes and places of the problems with the URL of a topic, of the application, or both."""
    application = {"url": urls["application"]} if "application" in urls else {}
    options = {"url": urls["topic"]} if "topic" in urls else {}
    topic = TopicSettings("readings", "readings", "redis", True, options, application)
    return [(problem.code, problem.path) for problem in RedisChannelType.traits.problems(topic)]


def test_the_url_of_a_server_is_verified() -> None:
    """A topic needs one, of its own or of the application, and the finding is where it is set."""
    assert url_problems() == [("servers-missing", ("channel",))]
    assert url_problems(application="http://host") == [("servers-missing", ("redis", "url"))]
    assert url_problems(application="http://host", topic="redis://") == [("servers-missing", ("url",))]
    assert (
        url_problems(topic="redis://host:port") == url_problems(topic="redis://[::1") == [("servers-missing", ("url",))]
    )
    assert url_problems(topic="rediss://user:secret@host:1/2") == []


def test_the_place_of_a_topic_has_no_password() -> None:
    """It is the server and the database."""
    topic = TopicSettings("t", "t", "redis", True, {"url": "redis://user:secret@host/3"}, {})
    assert RedisChannelType.traits.location(topic) == "host:6379/3"
    assert RedisChannelType.traits.location(replace(topic, options={"url": "redis://host:port"})) == ""


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """Without its password, by the check before a run and by each request; a write can be repeated."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        plan = TopicPlan("t", "t", "redis", True, (), (), {"url": f"redis://:secret@{address}/0"})
        (check,) = RedisChannelType().check([plan])
        topic = RedisChannelType().open(tmp_path).topic(plan)
        with pytest.raises(ChannelUnavailableError, match=address) as unavailable:
            topic.end()
        with pytest.raises(TopicWriteError, match=address):
            topic.appender(READING, writer="w")
    assert check.state is State.ERROR
    assert address in check.detail
    assert "secret" not in f"{check} {unavailable.value}"
