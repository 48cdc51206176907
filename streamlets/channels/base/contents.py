"""Records of a topic, with what is known about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from streamlets.channels.base.readers import Position

if TYPE_CHECKING:
    import pyarrow as pa


METADATA = "_meta"
"""The column with the position of a record in its topic, which `read` and `scan` add on request."""


METADATA_DDL = "struct<position:string,sequence:bigint,timestamp:timestamp,key:binary,headers:map<string,binary>>"
"""The type of the column `_meta`.

`position` and `sequence` together identify a record within its topic. `timestamp` is the time of its commit. `key` and
`headers` are null on channels that do not have them.
"""


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


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """A batch of a query that has written records.

    Arguments:
        query: Spark's id of the query, which is in its checkpoint.
        number: the number of the batch.
    """

    query: str
    number: int


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
        files: the number of files that have the records; None if the channel has none.
    """

    name: str
    records: int
    bytes: int | None
    last_commit: float | None
    writers: tuple[WriterSummary, ...]
    files: int | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive records of a topic.

    Arguments:
        contract: the contract that they were written with.
        rows: the records.
        end: the position after them.
    """

    contract: Contract
    rows: pa.RecordBatch
    end: Position


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting of a topic that is not as the blueprint sets it.

    Arguments:
        setting: the setting below the topic in the blueprint, such as `topic.partitions`.
        planned: its value in the blueprint.
        existing: the value of the topic as it exists; None if the topic cannot have the setting.
        alterable: whether `alter` can make it as planned.
        warning: what altering it may delete, or cannot undo, one sentence without a full stop; "" for neither.
        help: what to do instead, in the imperative; "" if it is alterable.
    """

    setting: str
    planned: str
    existing: str | None
    alterable: bool = True
    warning: str = ""
    help: str = ""

    def __str__(self) -> str:
        existing = f"is `{self.existing}`" if self.existing is not None else "does not exist"
        return f"`{self.setting}` {existing}, and the blueprint sets `{self.planned}`"
