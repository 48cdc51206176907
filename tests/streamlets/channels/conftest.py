"""Topics and queries for the tests that need Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamlets.batches import BatchWritten
from streamlets.channels.base import Branch
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic
from tests.streamlets.channels.topics import topic_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.plan import InletPlan, OutletPlan


class Bench:
    """A channel in a directory, and queries on it."""

    def __init__(self, root: Path, session: SparkSession) -> None:
        self.root = root
        self.session = session
        self.channel = DeltaChannel(root / "topics")
        self.channel.prepare(session)
        self.batches: list[BatchWritten] = []

    def topic(self, name: str) -> DeltaTopic:
        """Return a topic, created if it does not exist."""
        topic = self.channel.topic(topic_plan(name))
        topic.create()
        return topic

    def read(self, inlet: InletPlan, **settings: Any) -> DataFrame:
        """Return the DataFrame that an inlet reads."""
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
        writer = self.channel.writer(
            rows, branches, dead, query=query, streamlet="writer", version="1.2", on_batch=self.batches.append
        )
        return writer.option("checkpointLocation", str(self.root / "checkpoints" / query))

    def run(self, writer: Any) -> Any:
        """Run a query until it has processed all available data."""
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600), query.status
        return query

    def forget_commit(self, query: str = "q") -> int:
        """Undo the last commit of Spark, as if it had been killed before, and return the number of the batch."""
        commits = self.root / "checkpoints" / query / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
        return last


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    """Return a channel in a new directory with a new session; remaining queries are stopped after the test."""
    session = spark.newSession()
    yield Bench(tmp_path, session)
    for query in session.streams.active:
        query.stop()
