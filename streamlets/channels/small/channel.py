"""`SmallChannel`: a channel whose batches are appended."""

from __future__ import annotations

import abc
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import Branch, Channel, TopicQuery, TopicResource
from streamlets.channels.begun import BegunBatches
from streamlets.channels.small.batch import BatchWriter
from streamlets.channels.small.topic import SmallTopic
from streamlets.override import override

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.plan import TopicPlan


class SmallChannel(Channel):
    """A channel whose queries write batches with the appenders of its topics.

    Arguments:
        directory: the directory of the channel, below the application's directory for topics. Each topic has a
            subdirectory with its name.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self._begun = BegunBatches(self.directory / "_begun")
        self._staging = self.directory / "_staging"  # which all machines of Spark share with the application

    @abc.abstractmethod
    def opened(self, plan: TopicPlan, directory: Path) -> SmallTopic:
        """Return a topic, which need not exist.

        Arguments:
            plan: the name and the settings of the topic.
            directory: the directory of the topic, which need not exist.
        """

    @override
    def topic(self, plan: TopicPlan) -> SmallTopic:
        refused = plan.name.startswith(("_", ".", *self.traits.reserved)) or "/" in plan.name
        if refused:
            raise ValueError(
                f"invalid topic name `{plan.name}`: on the {self.name} channel a name must not contain `/` or begin "
                f"with {' or '.join(f'`{prefix}`' for prefix in sorted({'_', '.', *self.traits.reserved}))}"
            )
        return self.opened(plan, self.directory / plan.name)

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
        return rows.writeStream.foreachBatch(BatchWriter(branches, dead_letters, query, self._begun, self._staging))

    @override
    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        return self._begun.has(streamlet, query, id, batch)

    @override
    def forget(self, streamlet: str, query: str, id: str) -> None:
        self._begun.forget(streamlet, query, id)

    @override
    def forget_all(self) -> None:
        for directory in (self._begun.directory, self._staging):
            shutil.rmtree(directory, ignore_errors=True)
