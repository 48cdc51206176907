"""The interfaces of a channel, which stores the topics of an application.

An author of a channel implements `ChannelType`, `Channel` and `TopicResource`; the runner, the testkit and the commands
use them. `streamlets.channels.registry` shows how a package registers its channel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, runtime_checkable

from blueprint.avro.model import Contract
from streamlets.storage.damage import DamagedFileError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.catalog import ChannelTraits
    from blueprint.plan import InletPlan, OutletPlan, TopicPlan
    from streamlets.batches import BatchWritten
    from streamlets.channels.replays import Replays
    from streamlets.checks import Check


Topic = TypeVar("Topic")
"""What a channel writes the records of a topic to: its `TopicResource`, or something of its own."""

METADATA = "_meta"
"""The column with the position of a record in its topic, which `read` and `scan` add on request."""

METADATA_DDL = "struct<position:string,sequence:bigint,timestamp:timestamp,key:binary,headers:map<string,binary>>"
"""The type of the column `_meta`.

`position` and `sequence` together identify a record within its topic. `timestamp` is the time of its commit. `key` and
`headers` are null on channels that do not have them.
"""


@dataclass(frozen=True, slots=True)
class Lag:
    """The backlog of a reader.

    Arguments:
        records: the number of unread records.
        seconds: the age of the oldest unread record, 0.0 if there are none; None if the channel does not know it.
    """

    records: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a topic. Callers store it and compare it for equality; only its channel interprets it.

    Arguments:
        json: the position as a JSON document of the channel's own format.
    """

    json: str


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of a topic.

    Arguments:
        name: its name for display, such as `average.readings`.
        committed: the position up to which it has committed; None if it has not committed anything.
        reading_since: when its unfinished batch was planned, in seconds since the epoch; None without such a batch.
    """

    name: str
    committed: Position | None
    reading_since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Records that were dropped before a reader had committed them.

    Arguments:
        topic: the name of the topic.
        reader: the name of the reader.
        first: the position of the first of the records, for display, such as `table/version#number`.
        last: the position of the last of them.
        records: the number of the records.
        time: when they were dropped, in seconds since the epoch.
        cause: what dropped them, such as `retention`.
    """

    topic: str
    reader: str
    first: str
    last: str
    records: int
    time: float
    cause: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """The result of dropping records.

    Arguments:
        records: the number of dropped records.
        bytes: the size of the dropped records in storage.
        files: the number of dropped files.
        held: the number of records that were due but kept because a reader has not committed them, by the reader's
            name.
        missed: what readers lose, if records were dropped that they had not committed.
    """

    records: int = 0
    bytes: int = 0
    files: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    missed: tuple[Missed, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch(Generic[Topic]):
    """An outlet that a query writes to.

    Arguments:
        outlet: the plan of the outlet.
        rows: returns the rows for the outlet, from the DataFrame of the query.
        topic: the topic of the outlet.
    """

    outlet: OutletPlan
    rows: Callable[[DataFrame], DataFrame]
    topic: Topic


@dataclass(frozen=True, slots=True)
class WriterSummary:
    """The records of a topic that were written with one schema.

    Arguments:
        record: the full name of the schema's record.
        fingerprint: the fingerprint of the schema.
        queries: the writers, as transactions name them, sorted; () if the channel does not know them.
        records: the number of records; None if the channel does not count them by writer.
        bytes: the size of the stored records; None if the channel does not know it.
        commits: the number of commits; None if the channel does not count them.
    """

    record: str
    fingerprint: str
    queries: tuple[str, ...]
    records: int | None
    bytes: int | None
    commits: int | None


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """The content of a topic.

    Arguments:
        name: the name of the topic on its channel.
        records: the number of records.
        bytes: the size of the stored records; None if the channel does not know it.
        last_commit: the time of the last commit, in seconds since the epoch; None without one.
        writers: what was written with each schema.
    """

    name: str
    records: int
    bytes: int | None
    last_commit: float | None
    writers: tuple[WriterSummary, ...]


class ChannelUnavailableError(OSError):
    """What stores the topics of a channel does not answer, or refuses a request. A repetition may succeed."""

    help = ""
    """What to do, in the imperative."""


class TopicLostError(Exception):
    """The topic does not exist, or it was deleted and created again after the reader's position was recorded."""

    help = ""
    """What to do, in the imperative."""


class UnknownConnectionError(ValueError):
    """Neither the settings nor what the channel has stored say which servers have the topic."""


class TopicDamagedError(DamagedFileError):
    """Files of a topic are missing, incomplete or from elsewhere."""


class TopicWriteError(Exception):
    """Records could not be stored, for example on a full disk. The write can be repeated with the same sequence: it
    stores nothing twice, if it was published after all."""


class RecordTooLargeError(TopicWriteError):
    """A record is larger than its topic allows."""


class WriterFencedError(Exception):
    """The writer has been opened again with a higher epoch. No record of the write was published."""


class BrokenRowsError(Exception):
    """Rows break the contract of an outlet that does not allow it; the message has their number and an example."""


class Appender(Protocol):
    """Appends records to a topic without Spark, for one writer. The topic is opened and checked once, so that frequent
    appends are cheap. It is a context manager, and is used by one thread at a time.

    An append that fails can be repeated with the same sequence.
    """

    @property
    def last(self) -> int | None:
        """The sequence of the writer's last committed append, with any contract; None before the first one."""

    @property
    def marker(self) -> bytes | None:
        """The last marker that the writer has committed; None if there is none."""

    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        """Append records in one commit, which is durable when this returns.

        Arguments:
            rows: the records, with the Arrow schema of the contract; not iterated if the sequence was committed before.
            sequence: the number of the append, larger than that of each earlier one of this writer, and the same when
                it is repeated.
            marker: replaces the writer's marker in the same commit, such as the place in a source from which to
                continue; None keeps it.

        Returns:
            Whether the records were appended; False if this sequence, or a later one, was committed before.

        Raises:
            WriterFencedError: the writer has been opened with a higher epoch.
            TopicLostError: the topic no longer exists.
            TopicWriteError: the records could not be stored.
        """

    def close(self) -> None:
        """Release the resources. Records that were appended are not affected."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class InvalidRecord:
    """Stored data that is not a record.

    Arguments:
        coordinates: its place, such as `topic/partition/offset`.
        content: the data as a JSON document.
        reason: why it is not a record.
    """

    coordinates: str
    content: str
    reason: str


@runtime_checkable
class ShowsMessages(Protocol):
    """A topic whose messages other applications may write: some may not be records, or not name their schema."""

    def shown_with(self, schema: Contract | None, invalid: Callable[[str], None]) -> TopicResource:
        """Return the topic for showing its records as they were written.

        Arguments:
            schema: the schema of messages that do not name one; None if it is not known.
            invalid: called with the place of each message that is not a record, and why; it is omitted.

        Raises:
            ValueError: the messages do not name their schema, and it is not known.
        """


@runtime_checkable
class FindsInvalidRecords(Protocol):
    """A topic that may have data that is not a record. An inlet with `on_invalid` of `dead-letters` omits it, and
    the runner writes it to the dead letters after each batch."""

    def invalid_count(self, inlet: InletPlan, observed: Mapping[str, Mapping[str, Any]]) -> int:
        """Return how much invalid data a batch has omitted; 0 only if there was none.

        Arguments:
            inlet: the inlet.
            observed: the observed metrics of the batch by name, as in Spark's progress report.
        """

    def invalid(
        self, session: SparkSession, inlet: InletPlan, after: Position | None, until: Position
    ) -> Iterator[tuple[list[InvalidRecord], Position]]:
        """Yield the invalid data between two positions, the same at each call, with the position that is reached.

        Arguments:
            session: a session of the Spark that reads the topic.
            inlet: the inlet.
            after: the first position; None for the beginning of the topic.
            until: the second position.
        """

    def decoded(self, content: str, contract: Contract) -> dict[str, Any]:
        """Return invalid data as a record of a contract, by what is known now.

        Arguments:
            content: the `content` of an `InvalidRecord`.
            contract: the contract to read with.

        Raises:
            RecordError: it is still not a record.
        """

    def furthest(self, first: Position, second: Position) -> Position:
        """Return the position up to which everything was read by a reader that reached both positions."""


@runtime_checkable
class LosesRecords(Protocol):
    """A topic whose storage may delete records that a reader has not read."""

    @property
    def fails_on_loss(self) -> bool:
        """Whether a reader whose records were deleted stops; otherwise it continues with the first one that exists."""

    def lost(self, reader: Reader) -> tuple[Missed, ...]:
        """Return what a reader has lost that is about to continue from its committed position.

        Raises:
            TopicLostError: the topic no longer exists, or is not the one that has the position.
        """

    def skipped(self, reader: Reader, until: Position, records: int) -> tuple[Missed, ...]:
        """Return what a batch has lost that did not fail.

        Arguments:
            reader: the reader, with the position where the batch began.
            until: the position where it ended.
            records: the number of records that it has read, a multiple of it if the batch was executed several times.
        """


@runtime_checkable
class DropsLateRecords(Protocol):
    """A topic whose inlets may drop records because the watermark of the query has passed them."""

    def late_operator(self, inlet: InletPlan) -> str | None:
        """Return the name of the stateful operator that drops late records of an inlet, as Spark's progress reports
        have it; None if the inlet drops none."""


@runtime_checkable
class ShowsProgress(Protocol):
    """A topic whose storage has a place for the positions of readers, where other tools see them."""

    def committed(self, group: str, position: Position) -> None:
        """Store a reader's position.

        Arguments:
            group: the name of the reader, unique among the applications of the storage.
            position: the position up to which it has committed.
        """


class TopicResource(Protocol):
    """A topic on a channel. No method starts a query."""

    plan: TopicPlan

    def create(self, contracts: Iterable[Contract]) -> None:
        """Create the topic if it does not exist.

        Arguments:
            contracts: the contracts of the writers, for channels that need them in advance.

        Raises:
            TopicLostError: the topic does not exist, and the plan says that the application does not manage it.
        """

    def read(self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False) -> DataFrame:
        """Return a streaming DataFrame of the topic's records, with the schema of an inlet.

        Arguments:
            session: the session of the query.
            inlet: the inlet that reads.
            name: the name of the source within its query; "" for none.
            metadata: whether to add the column `_meta`.
        """

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

    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        """Return the number of records between two positions.

        Arguments:
            after: the first position; None for the beginning of the topic.
            until: the second position.
            reader: as for `lag`.

        Raises:
            TopicLostError: the topic does not exist, or a position is not one of its positions.
        """

    def owns(self, position: Position) -> bool:
        """Return whether a position belongs to this topic; False for other topics and other channels."""

    def shown(self, position: Position) -> str:
        """Return one of its positions for people, on one line."""

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

    def purge(
        self,
        readers: Iterable[Reader],
        *,
        before: float | None = None,
        schema: str | None = None,
        force: bool = False,
        dry: bool = False,
    ) -> Dropped:
        """Drop records.

        Arguments:
            readers: the readers of the topic.
            before: drop only records that were committed before this time, in seconds since the epoch; None for all.
            schema: drop only records that were written with the schema of this fingerprint; None for all.
            force: also drop records that a reader has not committed.
            dry: drop nothing, only return what would be dropped.

        Returns:
            What was dropped, or would be dropped.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def sweep(self) -> None:
        """Free the storage of dropped records immediately. Nobody may read or write the topic during the call."""

    def missed(self) -> Iterator[Missed]:
        """Yield what readers lost to drops. An entry is removed when the caller asks for the next one."""

    def summary(self) -> TopicSummary:
        """Return what is in the topic, without reading records.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def contracts(self) -> tuple[Contract, ...]:
        """Return the contracts that the records in the topic were written with, without duplicates.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def last(self, count: int) -> Iterator[pa.RecordBatch]:
        """Yield the last records as they were written, oldest first.

        Arguments:
            count: the number of records.

        Raises:
            TopicLostError: the topic does not exist.
        """

    @property
    def replays(self) -> Replays:
        """The decisions about the replay of dead letters in the topic."""


class Channel(Protocol):
    """The channel of an application, which stores topics."""

    name: str

    def topics(self) -> tuple[str, ...] | None:
        """Return the names of the topics that are stored in the directory of the channel, sorted; None if the channel
        stores topics elsewhere."""

    def topic(self, plan: TopicPlan) -> TopicResource:
        """Return a topic. The topic need not exist.

        Arguments:
            plan: the name and the settings of the topic.

        Raises:
            ValueError: the channel does not allow the name.
        """

    def prepare(self, session: SparkSession) -> None:
        """Prepare a session for reading and writing topics of this channel. A repeated call has no effect."""

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
        """Return a writer, not yet started, that writes the rows of each branch to its topic exactly once.

        The caller sets output mode, name, checkpoint and trigger. In complete mode every batch appends the whole
        result.

        Arguments:
            rows: the streaming DataFrame of the query. It is executed once per batch for all branches together.
            branches: the outlets that the query writes to. Each is exactly-once by itself; the rows of a batch come
                from the same execution for all of them.
            dead_letters: the topic for rows that break the contract of an outlet with dead letters; None without one.
            query: the name of the query within the streamlet, the same after a restart.
            streamlet: the name of the streamlet.
            version: the version of the streamlet, which is stored with dead letters.
            on_batch: called in the driver after each batch, before Spark commits it.
        """

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Remove what is stored for the unfinished batches of a query that starts with a new checkpoint.

        Arguments:
            streamlet: the name of the streamlet.
            query: the name of the query within the streamlet.
            id: the id that Spark stored in the previous checkpoint of the query.
        """

    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether data of a batch may have been written to a topic, or its content decided.

        Arguments:
            streamlet: the name of the streamlet.
            query: the name of the query within the streamlet.
            id: the id that Spark stores in the checkpoint of the query.
            batch: the number of the batch.
        """


@runtime_checkable
class RemembersInlets(Protocol):
    """A channel that stores decisions about the records of inlets, which all queries of a streamlet share."""

    def forget_inlets(self, streamlet: str) -> None:
        """Remove what is stored for the inlets of a streamlet without a checkpoint, so that it decides again."""


class ChannelType(Protocol):
    """A kind of channel, as it is registered."""

    traits: ChannelTraits

    def check(self, topics: Sequence[TopicPlan]) -> Iterable[Check]:
        """Check whether the servers of topics answer; a channel without servers has nothing to check.

        Arguments:
            topics: topics on this channel.
        """

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application.

        Arguments:
            directory: the application's directory for topics. Channels share it: one that stores files there uses
                subdirectories of its own.
        """
