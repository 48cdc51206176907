"""What a small topic stores: commits with their content, and the state of each writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import WriterFencedError
from streamlets.channels.records import fitted

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a topic.

    Arguments:
        number: its number, larger than the number of each earlier commit, from 1 on.
        contract: the contract of its records, as JSON; it is not read if there are none.
        records: the number of its records; 0 after they were dropped.
        bytes: the size of its content in storage.
        time: when it was committed, in seconds since the epoch.
    """

    number: int
    contract: str
    records: int
    bytes: int
    time: float


@dataclass(frozen=True, slots=True)
class Content:
    """The records of a commit.

    Arguments:
        contract: the contract of the records, as JSON.
        data: the records, as a stream of Arrow.
        records: the number of the records.
    """

    contract: str
    data: bytes
    records: int

    @classmethod
    def of(cls, rows: Iterable[pa.RecordBatch], contract: Contract) -> Self:
        """Return the content of records.

        Arguments:
            rows: the records.
            contract: their contract.
        """
        import pyarrow as pa

        from streamlets.contract.types import arrow_schema

        schema, records, sink = arrow_schema(contract), 0, pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            for batch in rows:
                stream.write_batch(fitted(batch, schema))
                records += batch.num_rows
        return cls(contract.json, sink.getvalue().to_pybytes(), records)


def batches_in(data: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the records of a content."""
    import pyarrow as pa

    yield from pa.ipc.open_stream(data)


@cache
def contract_of(json: str) -> Contract:
    """Return the contract of a commit. Topics have few, and each commit names one."""
    return parse_contract(json)


@dataclass(frozen=True, slots=True)
class WriterState:
    """What a topic stores of a writer, in the transaction of each of its commits.

    Arguments:
        epoch: the highest epoch that the writer was opened with.
        sequence: the sequence of its last commit; -1 before the first one.
        marker: its last marker; None if there is none.
    """

    epoch: int = 0
    sequence: int = -1
    marker: bytes | None = None

    def claimed(self, writer: str, epoch: int) -> Self:
        """Return the state of a writer that is opened with an epoch.

        Arguments:
            writer: the id of the writer.
            epoch: the epoch.

        Raises:
            WriterFencedError: the writer was opened with a higher one.
        """
        if self.epoch > epoch:
            raise WriterFencedError(
                f"the writer `{writer}` with the epoch {epoch} was fenced: it was opened again with the epoch "
                f"{self.epoch}; no record was published"
            )
        return type(self)(epoch, self.sequence, self.marker)

    def admits(self, writer: str, next: WriterState) -> bool:
        """Return whether a commit may follow; False if it, or a later one, was published before.

        Arguments:
            writer: the id of the writer.
            next: the state that the commit stores.

        Raises:
            WriterFencedError: the writer was opened with a higher epoch.
        """
        return self.claimed(writer, next.epoch).sequence < next.sequence
