"""`TopicRecords`: records of a topic, read with one contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from streamlets.channels.base import METADATA, Position, TopicResource

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecords:
    """The records of a topic that were committed in a time.

    Arguments:
        topic: the topic.
        contract: the contract to read with.
        end: the position up to which they are read, such as the end of the topic when a command starts.
        since: the earliest time of their commit, in seconds since the epoch; None for the beginning of the topic.
        until: the time before which they were committed; None for no limit.
    """

    topic: TopicResource
    contract: Contract
    end: Position
    since: float | None = None
    until: float | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records in commit order, with the Arrow schema of the contract.

        Raises:
            TopicLostError: the topic does not exist.
            UnreadableRecordsError: records cannot be read with the contract.
        """
        bounded = self.since is not None or self.until is not None
        for batch in self.topic.scan(self.contract, None, self.end, metadata=bounded):
            yield self._in_time(batch) if bounded else batch

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the records as dicts; see `batches`."""
        for batch in self.batches():
            yield from batch.to_pylist()

    def omitted(self) -> tuple[str, ...]:
        """Return the fields of records in the topic that the contract does not have, sorted.

        Raises:
            TopicLostError: the topic does not exist.
        """
        read = {name for field in self.contract.record.fields for name in (field.name, *field.aliases)}
        stored = {field.name for contract in self.topic.contracts() for field in contract.record.fields}
        return tuple(sorted(stored - read))

    def _in_time(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        times = pc.cast(batch.column(METADATA).field("timestamp"), pa.int64())  # microseconds since the epoch
        within = pc.greater_equal(times, round((self.since or 0.0) * 1e6))
        if self.until is not None:
            within = pc.and_(within, pc.less(times, round(self.until * 1e6)))
        return batch.filter(within).drop_columns([METADATA])
