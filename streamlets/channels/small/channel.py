"""`SmallChannel`: a channel whose batches are appended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlets.channels.base import Branch, Channel, TopicQuery, TopicResource
from streamlets.channels.small.batch import BatchWriter
from streamlets.override import override

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class SmallChannel(Channel):
    """A channel whose queries write batches with the appenders of its topics, which are instances of `SmallTopic`.

    It answers `may_have_written` from the writers that `query_writers` names.
    """

    @override
    def prepare(self, session: SparkSession) -> None:
        from streamlets.channels.small.source import TopicSource

        session.dataSource.register(TopicSource)  # a child session does not inherit it

    @override
    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        return rows.writeStream.foreachBatch(BatchWriter(branches, dead_letters, query))
