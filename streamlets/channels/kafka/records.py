"""Messages as records, in Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.avro.resolution.planner import IncompatibleError
from streamlets.channels.base import METADATA, Stretch
from streamlets.channels.copying import AT_ONCE
from streamlets.channels.kafka.offsets import Offsets
from streamlets.channels.metadata import metadata_type
from streamlets.channels.unreadable import UnreadableRecordsError
from streamlets.contract.resolve import resolver
from streamlets.contract.wire.errors import TOMBSTONE, WireError
from streamlets.contract.wire.format import Decoded, WireFormat

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_AT_ONCE = 10_000


class MessageError(Exception):
    """A message is not a record.

    Arguments:
        topic: the name of the topic.
        partition: the partition of the message.
        offset: its offset.
        reason: why it is not a record.
    """

    def __init__(self, topic: str, partition: int, offset: int, reason: str) -> None:
        super().__init__(f"topic `{topic}`, partition {partition}, offset {offset}: {reason}")
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.reason = reason


def read_messages(
    messages: Iterable[Message],
    wire: WireFormat,
    reader: Contract | None,
    *,
    topic: str,
    metadata: bool = False,
    invalid: Callable[[str], None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of messages, in their order.

    Arguments:
        messages: the messages.
        wire: the format of the topic.
        reader: the contract to read with; None yields each record with the schema that it was written with.
        topic: the name of the topic, for messages of errors.
        metadata: whether to add the column `_meta`.
        invalid: called with the text of the error about each message that is not a record, which is omitted.

    Raises:
        MessageError: a message is not a record, and there is no `invalid`.
        UnreadableRecordsError: a record was written with a schema that the reader's contract cannot read.
    """
    resolve = _resolvers(reader)
    run: list[tuple[Message, Decoded]] = []

    def batch() -> pa.RecordBatch:
        contract = run[0][1].contract
        rows = resolve(contract)(wire.rows(contract, [decoded.value for _, decoded in run]))
        return _with_metadata(rows, [message for message, _ in run]) if metadata else rows

    for message in messages:
        try:
            decoded = _decode(message, wire)
        except WireError as error:
            failure = MessageError(topic, message.partition(), message.offset(), str(error))
            if invalid is not None:
                invalid(str(failure))
                continue
            if run:
                yield batch()
            raise failure from error
        if run and (run[0][1].contract is not decoded.contract or len(run) == _AT_ONCE):
            yield batch()
            run = []
        run.append((message, decoded))
    if run:
        yield batch()


def stretches(messages: Iterable[Message], wire: WireFormat, start: Offsets) -> Iterator[Stretch]:
    """Yield the records of messages with the contract that they were written with; see `CopyableTopic.stretches`.

    Arguments:
        messages: the messages.
        wire: the format of the topic.
        start: the position before the messages.

    Raises:
        MessageError: a message is not a record.
    """
    offsets = dict(start.partitions)
    run: list[Decoded] = []

    def stretch() -> Stretch:
        rows = wire.rows(run[0].contract, [decoded.value for decoded in run])
        return Stretch(run[0].contract, rows, Offsets(start.topic, offsets).to_position())

    for message in messages:
        partition, offset = message.partition(), message.offset()
        try:
            decoded = _decode(message, wire)
        except WireError as error:
            if run:
                yield stretch()
            raise MessageError(start.topic, partition, offset, str(error)) from error
        if run and (run[0].contract is not decoded.contract or len(run) == AT_ONCE):
            yield stretch()
            run = []
        run.append(decoded)
        offsets[partition] = offset + 1
    if run:
        yield stretch()


def _decode(message: Message, wire: WireFormat) -> Decoded:
    value = message.value()
    if value is None:
        raise WireError(TOMBSTONE)
    return wire.decode(value)


def _resolvers(reader: Contract | None) -> Callable[[Contract], Callable[[pa.RecordBatch], pa.RecordBatch]]:
    known: dict[str, Callable[[pa.RecordBatch], pa.RecordBatch]] = {}

    def resolve(writer: Contract) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        if reader is None or reader.fingerprint == writer.fingerprint:
            return lambda rows: rows
        if writer.fingerprint not in known:
            try:
                known[writer.fingerprint] = resolver(writer, reader)
            except IncompatibleError as error:
                raise UnreadableRecordsError(writer.fingerprint, str(error)) from error
        return known[writer.fingerprint]

    return resolve


def _with_metadata(rows: pa.RecordBatch, messages: list[Message]) -> pa.RecordBatch:
    """Return records with their column `_meta`: the partition is the position, the offset the sequence."""
    import pyarrow as pa

    kind = metadata_type()
    columns = [
        pa.array([str(message.partition()) for message in messages], pa.string()),
        pa.array([message.offset() for message in messages], pa.int64()),
        pa.array([message.timestamp()[1] * 1000 for message in messages], kind.field("timestamp").type),
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([_headers(message) for message in messages], kind.field("headers").type),
    ]
    meta = pa.StructArray.from_arrays(columns, fields=list(kind))
    return pa.RecordBatch.from_arrays([*rows.columns, meta], schema=rows.schema.append(pa.field(METADATA, kind)))


def _headers(message: Message) -> list[tuple[str, bytes | None]] | None:
    headers = message.headers()
    return list(dict(headers).items()) if headers else None
