"""`TopicResource`: a topic on a channel."""

from __future__ import annotations

import abc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from streamlets.channels.base.abilities import TopicAbilities
from streamlets.channels.base.contents import METADATA, TopicSummary, WriterSummary, WrittenBatch
from streamlets.channels.base.errors import TopicLostError
from streamlets.channels.base.readers import Dropped, Lag, Missed, Position, Reader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.avro.model import Contract
    from blueprint.plan import InletPlan, TopicPlan
    from streamlets.channels.base.appender import Appender
    from streamlets.channels.replays import Replays


class TopicResource(TopicAbilities, abc.ABC):
    """A topic on a channel. No method starts a query.

    What is not abstract has a default, which reads the records if it must.
    """

    plan: TopicPlan

    @abc.abstractmethod
    def create(self, contracts: Iterable[Contract]) -> None:
        """Create the topic if it does not exist.

        Arguments:
            contracts: the contracts of the writers, for channels that need them in advance.

        Raises:
            TopicLostError: the topic does not exist, and the plan says that the application does not manage it.
        """

    def exists(self) -> bool:
        """Return whether the topic exists."""
        try:
            self.end()
        except TopicLostError:
            return False
        return True

    @abc.abstractmethod
    def read(
        self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False, replicas: int | None = None
    ) -> DataFrame:
        """Return a streaming DataFrame of the topic's records, with the schema of an inlet.

        Arguments:
            session: the session of the query.
            inlet: the inlet that reads.
            name: the name of the source within its query; "" for none.
            metadata: whether to add the column `_meta`.
            replicas: the largest number of tasks that read a batch, which there are if the batch has as many records;
                None if the channel decides. It may differ when a batch is repeated. Without the trait `splits` it has
                no effect.
        """

    @abc.abstractmethod
    def appender(
        self, contract: Contract, *, writer: str, epoch: int = 0, partition_by: tuple[str, ...] = ()
    ) -> Appender:
        """Open the topic for appending records without Spark.

        Arguments:
            contract: the contract that the records are written with.
            writer: the id of the writer, the same after a restart.
            epoch: the generation of the writer. A writer that opens with a higher epoch fences those with lower ones:
                their next append raises an error and publishes nothing. Writers with the same epoch do not fence each
                other.
            partition_by: the columns that partition the records, as for the outlet that they belong to.

        Raises:
            WriterFencedError: the writer has been opened with a higher epoch.
            TopicLostError: the topic does not exist.
            TopicWriteError: the topic cannot be written.
        """

    def ordered_appender(self, contract: Contract, *, writer: str, partition_by: tuple[str, ...] = ()) -> Appender:
        """Open the topic for appending like `appender`, but keep the order of a contract's records.

        The order is kept also without columns that partition the records.

        Arguments:
            contract: as for `appender`.
            writer: as for `appender`.
            partition_by: as for `appender`.
        """
        return self.appender(contract, writer=writer, partition_by=partition_by)

    @abc.abstractmethod
    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yield records in commit order, without Spark.

        Arguments:
            reader: the contract to read with; None yields each record with the schema that it was written with.
            after: the position to start from; None for the beginning of the topic.
            until: the position to stop at; None for the end of the topic at the time of the call.
            metadata: whether to add the column `_meta`.

        Raises:
            TopicLostError: the topic does not exist, or `after` is not one of its positions.
        """

    @abc.abstractmethod
    def end(self) -> Position:
        """Return the current end of the topic.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def lag(self, at: Position | None, *, reader: str = "") -> Lag:
        """Return the number and the age of the records after a position.

        Arguments:
            at: the position; None for the beginning of the topic.
            reader: a name, unique in this process, of the reader at that position. If it is given, the topic may cache
                what it knows of the records after the position, for the next call for the same reader; "" for none.

        Raises:
            TopicLostError: the topic does not exist, or `at` is not one of its positions.
        """
        records = self.count(at, self.end(), reader=reader)
        return Lag(records, None if records else 0.0)

    def lag_by_partition(self, at: Position | None) -> Mapping[str, int]:
        """Return the number of records after a position in each partition; {} if the channel has no partitions.

        Arguments:
            at: the position; None for the beginning of the topic.

        Raises:
            TopicLostError: the topic does not exist, or `at` is not one of its positions.
        """
        return {}

    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        """Return the number of records between two positions.

        Arguments:
            after: the first position; None for the beginning of the topic.
            until: the second position.
            reader: as for `lag`.

        Raises:
            TopicLostError: the topic does not exist, or a position is not one of its positions.
        """
        return sum(batch.num_rows for batch in self.scan(None, after, until))

    def written_by(self, after: Position | None, until: Position, most: int) -> tuple[WrittenBatch, ...]:
        """Return the batches of queries that wrote the records between two positions, newest first.

        () if the channel does not know them. What others wrote, such as spouts, is not among them.

        Arguments:
            after: the first position; None for the beginning of the topic.
            until: the second position.
            most: the largest number of batches.

        Raises:
            TopicLostError: the topic does not exist, or a position is not one of its positions.
        """
        return ()

    @abc.abstractmethod
    def owns(self, position: Position) -> bool:
        """Return whether a position belongs to this topic; False for other topics and other channels.

        Arguments:
            position: the position, which may have any content.
        """

    def shown(self, position: Position) -> str:
        """Return one of the topic's positions for people, on one line.

        Arguments:
            position: the position.
        """
        return position.json

    def maintain(self, readers: Callable[[], Iterable[Reader]] | None = None) -> Dropped:
        """Keep reading and committing fast, and apply the retention of the topic. The runner calls this periodically.

        Arguments:
            readers: returns the readers of the topic; called only when something can be removed. Files that the
                unfinished batch of a reader may read are kept; so are records that a reader has not committed, unless
                the retention of the topic allows dropping them. None if the readers are not known: no record is dropped
                then.

        Returns:
            What retention has dropped.
        """
        return Dropped()

    def sweep(self) -> None:
        """Free the storage of dropped records immediately. Nobody may read or write the topic during the call."""

    def missed(self) -> Iterator[Missed]:
        """Yield the records that readers lost to drops. An entry is removed when the caller asks for the next one."""
        return iter(())

    def summary(self) -> TopicSummary:
        """Return the content of the topic, if possible without reading records.

        Raises:
            TopicLostError: the topic does not exist.
        """
        writers = (WriterSummary(own.record.name, own.fingerprint, (), None, None, None) for own in self.contracts())
        records, newest = 0, None
        for batch in self.scan(metadata=True):
            records += batch.num_rows
            newest = batch.column(METADATA)[-1]["timestamp"].as_py().timestamp() if batch.num_rows else newest
        return TopicSummary(self.plan.name, records, None, newest, tuple(writers))

    @abc.abstractmethod
    def contracts(self) -> tuple[Contract, ...]:
        """Return the contracts that the records in the topic were written with, without duplicates.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def last(self, count: int, *, metadata: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the last records as they were written, oldest first.

        Arguments:
            count: the number of records.
            metadata: whether to add the column `_meta`.

        Raises:
            TopicLostError: the topic does not exist.
        """
        kept: deque[pa.RecordBatch] = deque()
        for batch in self.scan(metadata=metadata):
            kept.append(batch)
            while sum(part.num_rows for part in kept) - kept[0].num_rows >= count:
                kept.popleft()
        surplus = sum(part.num_rows for part in kept) - count
        return (part.slice(max(0, surplus) if part is kept[0] else 0) for part in kept)

    @property
    @abc.abstractmethod
    def replays(self) -> Replays:
        """The decisions about the replay of dead letters in the topic."""
