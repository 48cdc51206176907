"""The channels that the conformance suite tests, each opened for a test by a bench.

A channel joins the suite with a subclass of `ChannelBench` in `BENCHES`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from blueprint.avro.model import Contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.channel_type import ChannelType
from streamlets.channels.registry import CHANNEL_TYPES
from tests.streamlets.channels.topics import READING
from tests.toy_channel.channel import ToyChannelType


class ChannelBench:
    """A channel with nothing in it, in a directory.

    Arguments:
        request: the request of pytest, for fixtures that the channel needs; `pytest.skip` if it cannot be tested here.
        directory: the state of the test; topics are below it.
    """

    type: ChannelType
    marks: tuple[pytest.MarkDecorator, ...] = ()

    def __init__(self, request: pytest.FixtureRequest, directory: Path) -> None:
        self.directory = directory
        self.traits = self.type.traits
        self.channel = self.open()

    def open(self) -> Channel:
        """Return the channel as another process would open it."""
        return self.type.open(self.directory / "topics")

    def plan(self, id: str, *, managed: bool = True, options: Mapping[str, object] | None = None) -> TopicPlan:
        """Return the plan of a topic, whose name no other test uses."""
        return TopicPlan(id, id, self.traits.name, managed, (), (), options or {})

    def topic(self, id: str, *contracts: Contract, options: Mapping[str, object] | None = None) -> TopicResource:
        """Return a topic, created if it does not exist."""
        topic = self.channel.topic(self.plan(id, options=options))
        topic.create(contracts or (READING,))
        return topic


class DeltaBench(ChannelBench):
    """The delta channel."""

    type = CHANNEL_TYPES["delta"]


class ToyBench(ChannelBench):
    """The channel of `tests/toy_channel`."""

    type = ToyChannelType()


class KafkaBench(ChannelBench):
    """The Kafka channel, on the broker that all tests share."""

    type = CHANNEL_TYPES["kafka"]
    marks = (pytest.mark.spark,)  # the broker needs Java

    def __init__(self, request: pytest.FixtureRequest, directory: Path) -> None:
        self._servers = request.getfixturevalue("kafka_broker")
        self._suffix = uuid.uuid4().hex[:8]
        super().__init__(request, directory)

    def plan(self, id: str, *, managed: bool = True, options: Mapping[str, object] | None = None) -> TopicPlan:
        """Return the plan of a topic with one partition, so that its records have an order."""
        own = {"bootstrap.servers": self._servers, "topic.partitions": 1}
        return TopicPlan(id, f"{id}-{self._suffix}", self.traits.name, managed, (), (), own | dict(options or {}))


BENCHES: dict[str, type[ChannelBench]] = {"delta": DeltaBench, "toy": ToyBench, "kafka": KafkaBench}


@pytest.fixture(params=[pytest.param(name, marks=bench.marks) for name, bench in sorted(BENCHES.items())])
def channel_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ChannelBench]:
    """Return a bench of each channel."""
    yield BENCHES[request.param](request, tmp_path)
