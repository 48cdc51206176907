"""`Channel`: what stores the topics of an application."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamlets.channels.base.optional import HasTraits, optional
from streamlets.channels.base.topic import TopicResource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.plan import TopicPlan
    from streamlets.channels.base.queries import Branch, TopicQuery


class Channel(HasTraits, abc.ABC):
    """The channel of an application, which stores topics."""

    @property
    def name(self) -> str:
        """The name of the channel in a blueprint."""
        return self.traits.name

    def topics(self) -> tuple[str, ...] | None:
        """Return the sorted names of the topics in the directory of the channel; None if it stores topics elsewhere."""
        return None

    @abc.abstractmethod
    def topic(self, plan: TopicPlan) -> TopicResource:
        """Return a topic. The topic need not exist.

        Arguments:
            plan: the name and the settings of the topic.

        Raises:
            ValueError: the channel does not allow the name.
        """

    def prepare(self, session: SparkSession) -> None:
        """Prepare a session for reading and writing topics of this channel. A repeated call has no effect.

        Arguments:
            session: the session.
        """

    @abc.abstractmethod
    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        """Return a writer, not yet started, that writes the rows of each branch to its topic exactly once.

        The caller sets output mode, name, checkpoint and trigger. In complete mode every batch appends the whole
        result.

        Arguments:
            rows: the streaming DataFrame of the query. It is executed once per batch for all branches together.
            branches: the outlets that the query writes to. Each is exactly-once by itself; the rows of a batch come
                from the same execution for all of them.
            dead_letters: the topic for rows that break the contract of an outlet with dead letters; None without one.
            query: the query.
        """

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Remove what is stored for the unfinished batches of a query that starts with a new checkpoint.

        Arguments:
            streamlet: the name of the streamlet.
            query: the name of the query within the streamlet.
            id: the id that Spark stored in the previous checkpoint of the query.
        """

    def forget_all(self) -> None:
        """Remove what is stored for the unfinished batches of all queries and for all inlets, and unfinished deletions.

        All checkpoints of the application have been deleted. A channel that stores this with its topics, as the base
        class assumes, has nothing to remove.
        """

    @abc.abstractmethod
    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether data of a batch may have been written to a topic, or its content decided.

        Arguments:
            streamlet: the name of the streamlet.
            query: the name of the query within the streamlet.
            id: the id that Spark stores in the checkpoint of the query.
            batch: the number of the batch.
        """

    def has_decided(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether records that a query writes under the number of a batch may be dropped, because the content
        of the batch, or of a later one, was decided before.

        The runner refuses a query with a checkpoint that does not have such a batch. Default: every batch that may have
        been written, if the channel is exactly-once.

        Arguments:
            streamlet, query, id, batch: as for `may_have_written`.
        """
        return self.traits.exactly_once and self.may_have_written(streamlet, query, id, batch)

    @optional("invalid_records")
    def forget_inlets(self, streamlet: str) -> None:
        """Remove what is stored for the inlets of a streamlet without a checkpoint, so that it decides again.

        Arguments:
            streamlet: the name of the streamlet.
        """

    @optional("administration")
    def unused(self, plans: Sequence[TopicPlan]) -> tuple[TopicResource, ...]:
        """Return the topics that the application has created and no longer has, sorted by name.

        Arguments:
            plans: the topics of the application on this channel.
        """
        return ()

    @optional("administration")
    def create_shared(self, plans: Sequence[TopicPlan]) -> None:
        """Create the topics in which the channel stores what topics share, such as the schemas of writers.

        Otherwise the first writer that needs one creates it.

        Arguments:
            plans: the topics of the application on this channel.

        Raises:
            ChannelUnavailableError: the servers do not answer, or refuse it.
        """

    @optional("real_time")
    def real_time_writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        """Return an unstarted writer that writes each row as soon as it is processed, at least once.

        For `rows`, `branches`, `dead_letters` and `query` see `writer`.

        Raises:
            ValueError: real-time mode cannot write these outlets.
        """
        raise NotImplementedError

    @optional("real_time")
    def source_partitions(self, rows: DataFrame) -> int:
        """Return the number of partitions of the topics of this channel that a query reads.

        In real-time mode each has a task that runs as long as the query.

        Arguments:
            rows: the streaming DataFrame of the query.
        """
        return 0
