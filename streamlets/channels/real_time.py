"""The interface of a channel that supports real-time triggers, in addition to that of every channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from streamlets.channels.base import Branch, TopicResource


@runtime_checkable
class RealTimeChannel(Protocol):
    """A channel whose traits have `real_time`: its topics are sources and sinks of Spark's real-time mode."""

    def real_time_writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        *,
        query: str,
        streamlet: str,
        version: str = "",
    ) -> DataStreamWriter:
        """Return a writer, not yet started, that writes each row as soon as it is processed, at least once; see
        `Channel.writer` for the arguments.

        Raises:
            ValueError: real-time mode cannot write these outlets.
        """

    def source_partitions(self, rows: DataFrame) -> int:
        """Return the number of partitions of the topics of this channel that a query reads. In real-time mode each has
        a task that runs as long as the query."""
