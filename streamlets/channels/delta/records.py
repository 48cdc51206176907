"""Records of a topic as a reader's schema has them: slices of files, resolved from their writer's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.avro.resolution.planner import IncompatibleError
from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import METADATA
from streamlets.channels.delta.log import Slice
from streamlets.channels.delta.parquet import read_rows

if TYPE_CHECKING:
    import pyarrow as pa


class UnreadableRecordsError(Exception):
    """Records in a topic that a reader's schema cannot read.

    Arguments:
        fingerprint: of the schema that they were written with.
        reason: why they cannot be read.
    """

    def __init__(self, fingerprint: str, reason: str, message: str = "") -> None:
        super().__init__(message or f"records written with the schema {fingerprint} cannot be read: {reason}")
        self.fingerprint = fingerprint
        self.reason = reason

    def of(self, topic: str, inlet: str, declared: str) -> UnreadableRecordsError:
        """Return the error with where it happened and what to do.

        Arguments:
            topic: the name of the records' topic.
            inlet: the reader's, as `streamlet.inlet`; declared: where its schema is, "" when that is not known.
        """
        place = f" (schema at {declared})" if declared else ""
        return UnreadableRecordsError(
            self.fingerprint,
            self.reason,
            f"the topic `{topic}` has records written with the schema {self.fingerprint}, which `{inlet}`{place} "
            f"cannot read: {self.reason}; change the schema of `{inlet}` so that it can read them, or drop them with "
            f"`flow topics purge {topic} --schema {self.fingerprint} --force`",
        )


def read_slices(
    slices: Iterable[Slice], reader: Contract | None, *, metadata: bool = False
) -> Iterator[pa.RecordBatch]:
    """The records of slices, in their order.

    Arguments:
        reader: whose schema they are to have; None for their writer's.
        metadata: add the column `_meta`.

    Raises:
        UnreadableRecordsError: some were written with a schema that the reader's cannot read.
    """
    shapes: dict[str, tuple[list[str], Callable[[pa.RecordBatch], pa.RecordBatch]]] = {}
    for run in _runs(slices):
        piece = run[0]
        if piece.contract not in shapes:
            shapes[piece.contract] = _shape(piece.contract, reader)
        columns, shape = shapes[piece.contract]
        count = sum(each.count for each in run)
        found = map(shape, read_rows(piece.path, piece.row_groups, piece.row, count, columns))
        yield from _with_metadata(found, run) if metadata else found


def _runs(slices: Iterable[Slice]) -> Iterator[list[Slice]]:
    """Slices that follow one another in a file, together: compaction puts many commits into one, and it is to be
    opened once."""
    run: list[Slice] = []
    for piece in slices:
        if run and (run[-1].path != piece.path or run[-1].row + run[-1].count != piece.row):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _with_metadata(batches: Iterable[pa.RecordBatch], run: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """The batches of a run, cut where its slices end, each with the column `_meta`."""
    pieces = iter(run)
    piece, done = next(pieces), 0
    for batch in batches:
        rest = batch
        while rest.num_rows:
            while done == piece.count:
                piece, done = next(pieces), 0
            part = rest.slice(0, piece.count - done)
            yield with_metadata(part, piece, done)
            done += part.num_rows
            rest = rest.slice(part.num_rows)


def _shape(writer_json: str, reader: Contract | None) -> tuple[list[str], Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """Which columns to read, and what makes them the reader's."""
    from streamlets.contract.types import arrow_schema

    writer = parse_contract(writer_json)
    stored = arrow_schema(writer)

    def restore(batch: pa.RecordBatch) -> pa.RecordBatch:
        return fitted(batch, stored)

    if reader is None or reader.fingerprint == writer.fingerprint:
        return stored.names, restore
    from streamlets.contract.resolve import resolver

    try:
        resolve = resolver(writer, reader)
    except IncompatibleError as error:
        raise UnreadableRecordsError(writer.fingerprint, str(error)) from error
    return stored.names, lambda batch: resolve(restore(batch))


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly these columns and types; a column it does not have is null."""
    import pyarrow as pa

    from streamlets.contract.relabel import relabel

    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        number = batch.schema.get_field_index(field.name)
        column = batch.column(number) if number >= 0 else pa.nulls(batch.num_rows, field.type)
        columns.append(relabel(column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def metadata_type() -> pa.DataType:
    """The channel-neutral `_meta` column: where a record stands (unique within the topic), its number there, when it
    was committed, and what only some channels have: key and headers."""
    import pyarrow as pa

    return pa.struct(
        [
            pa.field("position", pa.string()),
            pa.field("sequence", pa.int64()),
            pa.field("timestamp", pa.timestamp("us", tz="UTC")),
            pa.field("key", pa.binary()),
            pa.field("headers", pa.map_(pa.string(), pa.binary())),
        ]
    )


def with_metadata(batch: pa.RecordBatch, piece: Slice, done: int) -> pa.RecordBatch:
    """The batch, which begins `done` records into the slice, with its `_meta` column."""
    import pyarrow as pa

    rows, kind = batch.num_rows, metadata_type()
    columns = [
        pa.array([f"{piece.table}/{piece.version}"] * rows, pa.string()),
        pa.array(range(piece.first + done, piece.first + done + rows), pa.int64()),
        pa.array([piece.time * 1000] * rows, pa.timestamp("us", tz="UTC")),
        pa.nulls(rows, pa.binary()),
        pa.nulls(rows, kind.field("headers").type),
    ]
    meta = pa.StructArray.from_arrays(columns, fields=list(kind))
    return pa.RecordBatch.from_arrays([*batch.columns, meta], schema=batch.schema.append(pa.field(METADATA, kind)))


def parts(slices: Sequence[Slice], cores: int) -> list[list[Slice]]:
    """The slices dealt out for parallel reading: runs of about equal size, no more than there are cores, and one alone
    when there is little."""
    total = sum(piece.count for piece in slices)
    number = max(1, min(cores, total // _WORTH_A_TASK))
    share = -(-total // number) if total else 0
    dealt: list[list[Slice]] = [[]]
    room = share
    for piece in slices:
        rest = piece
        while rest.count:
            if not room:
                dealt.append([])
                room = share
            taken = min(room, rest.count)
            dealt[-1].append(replace(rest, count=taken))
            rest = replace(rest, row=rest.row + taken, first=rest.first + taken, count=rest.count - taken)
            room -= taken
    return [part for part in dealt if part]


_WORTH_A_TASK = 20_000
