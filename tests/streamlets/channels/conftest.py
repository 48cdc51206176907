"""Queries on the topics of a channel, for the tests that need Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from streamlets.batches import BatchWritten
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.spark.session import active
from tests.streamlets.channels.benches import ChannelBench, DeltaBench
from tests.streamlets.channels.topics import READING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from blueprint.plan import InletPlan, OutletPlan


class QueryBench:
    """A channel in a directory, and queries on it.

    Arguments:
        channels: the channel.
        session: a session that no other test uses.
    """

    def __init__(self, channels: ChannelBench, session: SparkSession) -> None:
        self.root = channels.directory
        self.session = session
        self.channels = channels
        self.channel = channels.channel
        with active(session):
            self.channel.prepare(session)
        self.batches: list[BatchWritten] = []

    def topic(self, name: str) -> TopicResource:
        """Return a topic, created if it does not exist."""
        topic = self.channel.topic(self.channels.plan(name))
        topic.create([READING])
        return topic

    def read(self, inlet: InletPlan, **settings: Any) -> DataFrame:
        """Return the DataFrame that an inlet reads."""
        with active(self.session):
            return self.topic(inlet.topic).read(self.session, inlet, name="in_", **settings)

    def write(
        self,
        rows: DataFrame,
        *outlets: OutletPlan | tuple[OutletPlan, Callable[[DataFrame], DataFrame]],
        query: str = "q",
        dead_letters: str | None = None,
    ) -> Any:
        """Return a writer to the topics of outlets, with its checkpoint below the root."""
        pairs = [outlet if isinstance(outlet, tuple) else (outlet, lambda frame: frame) for outlet in outlets]
        branches = tuple(Branch(plan, rows_of, self.topic(plan.topic)) for plan, rows_of in pairs)
        dead = self.topic(dead_letters) if dead_letters else None
        target = TopicQuery(streamlet="writer", name=query, version="1.2", on_batch=self.batches.append)
        writer = self.channel.writer(rows, branches, dead, target)
        return writer.option("checkpointLocation", str(self.checkpoint(query)))

    def run(self, writer: Any) -> Any:
        """Run a query until it has processed all available data."""
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600), query.status
        return query

    def checkpoint(self, query: str = "q") -> Path:
        """Return the directory of the checkpoint of a query."""
        return self.root / "checkpoints" / query

    def forget_commit(self, query: str = "q") -> int:
        """Undo the last commit of Spark, as if it had been killed before, and return the number of the batch."""
        commits = self.checkpoint(query) / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
        return last


class Bench(QueryBench):
    """The same on the delta channel, with what only its tests use."""

    def topic(self, name: str) -> DeltaTopic:
        """Return a topic, created if it does not exist."""
        topic = super().topic(name)
        assert isinstance(topic, DeltaTopic)
        return topic


@pytest.fixture
def own_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a new session; remaining queries are stopped after the test."""
    session = spark.newSession()
    yield session
    for query in session.streams.active:
        query.stop()


@pytest.fixture
def bench(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Return the delta channel in a new directory with a new session."""
    return Bench(DeltaBench(request, tmp_path), own_session)


@pytest.fixture
def query_bench(own_session: SparkSession, channel_bench: ChannelBench) -> QueryBench:
    """Return each channel in a new directory with a new session."""
    return QueryBench(channel_bench, own_session)
