"""A channel that stores a topic as a directory of numbered Arrow files; every process on the machine can use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from blueprint.catalog import ChannelTraits
from blueprint.plan import TopicPlan
from streamlets.batches import BatchWritten
from streamlets.channels.base import Branch, TopicResource
from streamlets.checks import Check
from tests.toy_channel.appender import has_written
from tests.toy_channel.batch import ToyBatchWriter, writer_id
from tests.toy_channel.commits import MARKER
from tests.toy_channel.topic import ToyTopic


class ToyChannelType:
    """The registration of the channel."""

    traits = ChannelTraits(name="toy", real_time=False, reserved=("_",))

    def check(self, topics: Sequence[TopicPlan]) -> tuple[Check, ...]:
        """Check nothing: the channel has no servers."""
        return ()

    def open(self, directory: Path) -> ToyChannel:
        """Return the channel of an application; see `ChannelType.open`."""
        return ToyChannel(directory / "_toy")


class ToyChannel:
    """The topics below a directory; see `Channel`."""

    name = "toy"

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def topics(self) -> tuple[str, ...]:
        """Return the names of the stored topics."""
        return tuple(sorted(marker.parent.name for marker in self.root.glob(f"*/{MARKER}")))

    def topic(self, plan: TopicPlan) -> ToyTopic:
        """Return a topic.

        Raises:
            ValueError: the channel does not allow the name.
        """
        if plan.name.startswith("_") or "/" in plan.name:
            raise ValueError(f"invalid topic name `{plan.name}`: on the toy channel it must not begin with `_`")
        return ToyTopic(self.root / plan.name, plan)

    def prepare(self, session: SparkSession) -> None:
        """Register the data source in a session."""
        from tests.toy_channel.source import ToySource

        session.dataSource.register(ToySource)

    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        *,
        query: str,
        streamlet: str,
        version: str = "",
        on_batch: Callable[[BatchWritten], None] | None = None,
    ) -> DataStreamWriter:
        """Return a writer, not yet started; see `Channel.writer`."""
        return rows.writeStream.foreachBatch(
            ToyBatchWriter(branches, dead_letters, streamlet, query, version, on_batch)
        )

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Do nothing: nothing is stored for unfinished batches."""

    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether a topic has the batch; see `Channel.may_have_written`."""
        writer = writer_id(streamlet, query, id)
        return any(has_written(self.root / name, writer, batch) for name in self.topics())
