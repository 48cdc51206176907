"""The interfaces of a channel: what carries a topic, and what it gives to the runner, the testkit and the commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from blueprint.avro.model import Contract

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.catalog import ChannelTraits
    from blueprint.plan import InletPlan, OutletPlan, TopicPlan
    from streamlets.channels.replays import Replays


METADATA = "_meta"
"""The column that `read` and `scan` add on request: where a record is in its topic."""

METADATA_DDL = "struct<position:string,sequence:bigint,timestamp:timestamp,key:binary,headers:map<string,binary>>"


@dataclass(frozen=True, slots=True)
class Txn:
    """What makes a write happen once: the writer's id (stable over restarts) and a number that only grows."""

    writer: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a reader is behind: records not yet read, and their age in seconds where it is known."""

    records: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a topic, as data that can be stored as JSON and compared only for equality."""

    json: str


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who reads a topic.

    Arguments:
        name: as people know it, such as `average.readings`.
        committed: the place up to which it has done its work; None when it has not committed anything yet.
        reading_since: when its unfinished batch was planned, in seconds since the epoch; None when it has none.
    """

    name: str
    committed: Position | None
    reading_since: float | None = None


@dataclass(frozen=True, slots=True)
class Missed:
    """Records that a reader had not committed when they were dropped.

    Arguments:
        topic: the topic's name; reader: whose they were.
        first, last: places of the first and the last of them, as `_meta` gives them: `table/version#number`.
        records: how many.
        time: when they were dropped, in seconds since the epoch; cause: by what.
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
    """What left a topic.

    Arguments:
        records, bytes, files: how much.
        held: records that were to go but stay, because a reader has not committed them, by the reader's name.
        missed: what readers lose by it, where it was forced.
    """

    records: int = 0
    bytes: int = 0
    files: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    missed: tuple[Missed, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """One outlet of a query that writes: which rows of the query's DataFrame go there, and the topic's resource."""

    outlet: OutletPlan
    rows: Callable[[DataFrame], DataFrame]
    topic: TopicResource


@dataclass(frozen=True, slots=True)
class BatchWritten:
    """What a query's batch brought to its topics, told once the topics have it (a replay tells it again).

    Arguments:
        query: the query's name within the streamlet; batch: Spark's number of the batch.
        rows: records by outlet name; dead_letters: records that broke a contract.
        replayed: whether an earlier attempt had decided the batch.
        executions: how often the batch's rows were executed, and so counted by Spark.
    """

    streamlet: str
    query: str
    batch: int
    rows: Mapping[str, int]
    dead_letters: int = 0
    replayed: bool = False
    executions: int = 1


@dataclass(frozen=True, slots=True)
class WriterSummary:
    """The records of a topic that were written with one schema.

    Arguments:
        record: the full name of the schema's record.
        fingerprint: the fingerprint of the schema.
        queries: the writers, as transactions name them, sorted.
        records: the number of records.
        bytes: the size of the stored records.
        commits: the number of commits.
    """

    record: str
    fingerprint: str
    queries: tuple[str, ...]
    records: int
    bytes: int
    commits: int


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """The content of a topic.

    Arguments:
        name: the name of the topic on its channel.
        records: the number of records.
        bytes: the size of the stored records.
        last_commit: the time of the last commit, in seconds since the epoch; None without one.
        writers: what was written with each schema.
    """

    name: str
    records: int
    bytes: int
    last_commit: float | None
    writers: tuple[WriterSummary, ...]


class TopicLostError(Exception):
    """The topic's folder or table is gone, or is another one than the reader's position speaks of."""


class TopicWriteError(Exception):
    """Records could not be stored: no space, no permission. Nothing of them is visible."""


class BrokenRowsError(Exception):
    """Rows break the contract of an outlet whose rows must not; the message has their number and the first one."""


class BatchRecord(Protocol):
    """What the writer of a query's batches, other than a channel, remembers of them."""

    def may_have_written(self, id: str, batch: int) -> bool:
        """Whether anything of a query's batch was decided or written; `id` is its checkpoint's."""

    def forget(self, id: str) -> None:
        """Remove what is kept for the unfinished batches of a query that begins again with another checkpoint."""


class TopicResource(Protocol):
    """One topic on a channel. Nothing here starts a query."""

    plan: TopicPlan

    def create(self, contracts: Iterable[Contract]) -> None:
        """Make the topic ready for these writers' contracts; harmless when it is there."""

    def delete(self) -> None:
        """Delete the topic with all its records."""

    def read(self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False) -> DataFrame:
        """A streaming DataFrame of the inlet's schema, its source called `name` ("" leaves it without a name)."""

    def append(
        self, rows: Iterable[pa.RecordBatch], contract: Contract, txn: Txn, *, partition_by: tuple[str, ...] = ()
    ) -> Position:
        """Write records without Spark, laid out as an outlet's are (`partition_by`); a `txn` already seen writes
        nothing."""

    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Records in commit order as the reader's schema has them (None: as written), without Spark; with `metadata`
        they have the column `_meta`, as those of `read`."""

    def end(self) -> Position:
        """Where the topic ends now."""

    def lag(self, at: Position | None, *, reader: str = "") -> Lag:
        """How much lies behind `at` (None: the beginning).

        Arguments:
            reader: whose place that is, by a name unique to this process, when it is asked for again and again as the
                reader goes on: the topic then remembers what lies behind it, and only that.
        """

    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        """How many records lie from `after` (None: the beginning) to `until`; `reader` as for `lag`."""

    def owns(self, position: Position) -> bool:
        """Whether a position is one of this topic; False for those of other topics and other channels."""

    def maintain(self, readers: Callable[[], Iterable[Reader]] | None = None) -> Dropped:
        """What keeps reading, looking for news and committing cheap, and the topic's retention; called by the runner
        from time to time.

        Arguments:
            readers: gives whoever reads the topic, asked only when something is to go: what a reader has not committed
                is kept, as are the files that its batch may be reading. None when the readers are not known; then no
                record is dropped.
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
            readers: whoever reads the topic.
            before: only those that came before this time (seconds since the epoch); None for all.
            schema: only those written with the schema of this fingerprint; None for all.
            force: also what a reader has not committed.
            dry: only say what would be dropped.
        """

    def sweep(self) -> None:
        """Give back at once what the storage still holds of dropped records; only while nobody uses the topic."""

    def missed(self) -> Iterator[Missed]:
        """What readers lost to drops; each is given once, and is taken as told when the next one is asked for."""

    def summary(self) -> TopicSummary:
        """Return what is in the topic, without reading records.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def contracts(self) -> tuple[Contract, ...]:
        """Return the contracts that the records in the topic were written with, each once.

        Raises:
            TopicLostError: the topic does not exist.
        """

    def last(self, count: int) -> Iterator[pa.RecordBatch]:
        """Yield the last `count` records as they were written, oldest first."""

    @property
    def replays(self) -> Replays:
        """The decisions about the replay of dead letters in the topic."""


class Channel(Protocol):
    """A way to carry topics."""

    name: str

    def topics(self) -> tuple[str, ...]:
        """Return the names of the topics that are stored in the directory of the channel, sorted; () if the channel
        stores topics elsewhere."""

    def topic(self, plan: TopicPlan) -> TopicResource:
        """The resource of one topic."""

    def prepare(self, session: SparkSession) -> None:
        """Whatever a session needs once before it reads or writes topics of this channel; harmless when repeated."""

    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch, ...],
        dead_letters: TopicResource | None,
        *,
        query: str,
        streamlet: str,
        version: str = "",
        on_batch: Callable[[BatchWritten], None] | None = None,
    ) -> DataStreamWriter:
        """An unstarted writer that brings each branch's rows to its topic, idempotent by (query, batch).

        Arguments:
            rows: the streaming DataFrame of the query; it is executed once a batch, whatever the number of branches.
            branches: where the rows go; each is exactly-once for itself, and all of one batch come from one execution.
            dead_letters: where rows go that break a contract, of outlets that say so.
            query: the name of the query within the streamlet, the same at every restart.
            version: the streamlet's, noted in dead letters.
            on_batch: called in the driver after each batch, before Spark commits it.

        The caller sets output mode, name, checkpoint and trigger. In complete mode every batch appends the whole
        result.
        """

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Let go of what is kept for the batches of a query that begins anew; `id` is its checkpoint's."""

    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Whether anything of a query's batch was decided or came to a topic; `id` is its checkpoint's."""


class ChannelType(Protocol):
    """A kind of channel, as it is registered."""

    traits: ChannelTraits

    def open(self, directory: Path) -> Channel:
        """Return the channel of an application.

        Arguments:
            directory: the application's directory for topics. Channels share it: one that stores files there uses
                subdirectories of its own.
        """
