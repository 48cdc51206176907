"""A channel that stores a topic as a directory of numbered Arrow files; every process on the machine can use it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from blueprint.plan import TopicPlan
from streamlets.channels.base import Branch, Channel, TopicQuery, TopicResource
from streamlets.channels.channel_type import ChannelType
from streamlets.override import override
from tests.toy_channel.appender import has_written
from tests.toy_channel.batch import ToyBatchWriter, writer_id
from tests.toy_channel.commits import MARKER, TRAITS
from tests.toy_channel.topic import ToyTopic


class ToyChannelType(ChannelType):
    """The registration of the channel."""

    traits = TRAITS

    @override
    def open(self, directory: Path) -> ToyChannel:
        return ToyChannel(directory / "_toy")


class ToyChannel(Channel):
    """The topics below a directory."""

    traits = TRAITS

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @override
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(marker.parent.name for marker in self.root.glob(f"*/{MARKER}")))

    @override
    def topic(self, plan: TopicPlan) -> ToyTopic:
        """Return a topic.

        Raises:
            ValueError: the channel does not allow the name.
        """
        if plan.name.startswith("_") or "/" in plan.name:
            raise ValueError(f"invalid topic name `{plan.name}`: on the toy channel it must not begin with `_`")
        return ToyTopic(self.root / plan.name, plan)

    @override
    def prepare(self, session: SparkSession) -> None:
        from tests.toy_channel.source import ToySource

        session.dataSource.register(ToySource)

    @override
    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        return rows.writeStream.foreachBatch(ToyBatchWriter(branches, dead_letters, query))

    @override
    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        writer = writer_id(streamlet, query, id)
        return any(has_written(self.root / name, writer, batch) for name in self.topics())
