"""`ChannelSuite`: the tests that every channel passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.testkit.channels.bench import ChannelBench, QueryBench
from streamlets.testkit.channels.queries import QueryTests
from streamlets.testkit.channels.topics import TopicTests
from streamlets.testkit.channels.traits import TraitTests
from streamlets.testkit.channels.writers import WriterTests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ChannelSuite(TopicTests, WriterTests, TraitTests, QueryTests):
    """The conformance suite, for a subclass whose `channel` is a `ChannelType`.

    Tests with queries have the marker `spark`. The others need neither Spark nor Java.
    """

    @pytest.fixture
    def channel_bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> ChannelBench:
        """Return the channel in a new directory."""
        return self.bench(self.channel, tmp_path, request)

    @pytest.fixture
    def query_bench(self, channel_bench: ChannelBench, spark: SparkSession) -> Iterator[QueryBench]:
        """Return the channel with a new session; remaining queries are stopped after the test."""
        session = spark.newSession()
        yield QueryBench(channel_bench, session)
        for query in session.streams.active:
            query.stop()
