"""Reading records: slices of files, resolved from the schema of their writer to the reader's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.wording import counted
from streamlets.channels.base import Stretch, TopicDamagedError
from streamlets.channels.copying import AT_ONCE
from streamlets.channels.delta.integrity import damaged_file
from streamlets.channels.delta.log import Slice, TopicLog
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.parquet import OtherFileError, other_size, read_rows
from streamlets.channels.delta.table import open_table
from streamlets.channels.metadata import with_metadata
from streamlets.channels.records import conversion

if TYPE_CHECKING:
    import pyarrow as pa


def read_slices(
    slices: Iterable[Slice], reader: Contract | None, *, metadata: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the records of slices, in their order.

    Arguments:
        slices: the slices.
        reader: the contract to read with; None yields each record with the schema that it was written with.
        metadata: whether to add the column `_meta`.

    Raises:
        UnreadableRecordsError: a record was written with a schema that the reader's contract cannot read.
        TopicDamagedError: a file with records is missing or damaged.
    """
    shapes: dict[str, tuple[list[str], Callable[[pa.RecordBatch], pa.RecordBatch]]] = {}
    for run in adjacent(slices):
        piece = run[0]
        if piece.contract not in shapes:
            shapes[piece.contract] = _shape(piece.contract, reader)
        columns, shape = shapes[piece.contract]
        batches = map(shape, _rows_of(run, columns))
        yield from _with_metadata(batches, run) if metadata else batches


def _rows_of(run: Sequence[Slice], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the records of a run as they are stored.

    Raises:
        TopicDamagedError: the file is missing or damaged.
        FileNotFoundError: the file was removed from the log and deleted, after this batch had been planned.
    """
    import pyarrow as pa

    piece, count = run[0], records_of(run)
    try:
        yield from read_rows(piece.path, piece.size, piece.row_groups, piece.row, count, columns)
    except FileNotFoundError:
        if _is_committed(piece):
            raise damaged_run(run, "it does not exist") from None
        raise
    except (pa.ArrowException, OtherFileError, EOFError) as error:
        raise damaged_run(run, str(error).partition("\n")[0]) from None


def records_of(run: Sequence[Slice]) -> int:
    """Return the number of records of slices."""
    return sum(piece.count for piece in run)


def require_file(run: Sequence[Slice]) -> None:
    """Require that the file of adjacent slices exists with its size.

    Raises:
        TopicDamagedError: it is missing, or has another size.
        FileNotFoundError: the file was removed from the log and deleted.
    """
    piece = run[0]
    try:
        size = Path(piece.path).stat().st_size
    except FileNotFoundError:
        if _is_committed(piece):
            raise damaged_run(run, "it does not exist") from None
        raise
    if size != piece.size:
        raise damaged_run(run, other_size(piece.size))


def _is_committed(piece: Slice) -> bool:
    table = _table_of(piece)
    return Path(piece.path).relative_to(table).as_posix() in (open_table(table, files=True).files or {})


def damaged_run(run: Sequence[Slice], reason: str) -> TopicDamagedError:
    """Return the error for slices, adjacent in a file, that cannot be read.

    Arguments:
        run: the slices.
        reason: why they cannot be read.
    """
    piece, last, count = run[0], run[-1], records_of(run)
    commits = (
        f"commit {piece.version}" if piece.version == last.version else f"commits {piece.version} to {last.version}"
    )
    what = (
        f"the file with {counted(count, 'record')} of {commits} of the table `{piece.table}` cannot be read: {reason}"
    )
    remedy = "delete all topics and checkpoints with `flow run --fresh`"
    return damaged_file(_table_of(piece).parent, Path(piece.path), what, remedy)


def _table_of(piece: Slice) -> Path:
    return next(parent for parent in Path(piece.path).parents if parent.name == piece.table)


def stretches(log: TopicLog, start: Offset, end: Offset) -> Iterator[Stretch]:
    """Yield the records between two offsets with their writers' contracts; see `CopyableTopic.stretches`.

    Arguments:
        log: knows the commits between the offsets.
        start: the first offset.
        end: the second offset.
    """
    at = start
    for run in adjacent(log.slices(start, end)):
        contract = parse_contract(run[0].contract)
        table = run[0].table
        pieces = iter(run)
        piece, done = next(pieces), 0
        for batch in read_slices(run, None):
            for first in range(0, batch.num_rows, AT_ONCE):
                rows = batch.slice(first, AT_ONCE)
                done += rows.num_rows
                while done > piece.count:
                    done -= piece.count
                    piece = next(pieces)
                place = Place(piece.version, piece.first + done)
                at = at.joined(Offset(at.topic, {table: (log.tables[table].id, place)}))
                yield Stretch(contract, rows, at.to_position())


def adjacent(slices: Iterable[Slice]) -> Iterator[list[Slice]]:
    """Yield runs of slices that are adjacent in a file. A compacted file has many commits, and is opened only once."""
    run: list[Slice] = []
    for piece in slices:
        if run and (run[-1].path != piece.path or run[-1].row + run[-1].count != piece.row):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _with_metadata(batches: Iterable[pa.RecordBatch], run: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a run, split where its slices end, with the column `_meta`."""
    pieces = iter(run)
    piece, done = next(pieces), 0
    for batch in batches:
        rest = batch
        while rest.num_rows:
            while done == piece.count:
                piece, done = next(pieces), 0
            part = rest.slice(0, piece.count - done)
            yield with_metadata(part, f"{piece.table}/{piece.version}", piece.first + done, piece.time)
            done += part.num_rows
            rest = rest.slice(part.num_rows)


def _shape(writer_json: str, reader: Contract | None) -> tuple[list[str], Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """Return the columns to read, and the function that converts them to the reader's schema."""
    from streamlets.contract.types import arrow_schema

    writer = parse_contract(writer_json)
    return arrow_schema(writer).names, conversion(writer, reader)


WORTH_A_TASK = 20_000
"""The minimum number of records of a part whose number of parts nobody has set."""


def parts(slices: Sequence[Slice], most: int, *, least: int = WORTH_A_TASK) -> list[list[Slice]]:
    """Split slices into parts for parallel reading, whose sizes differ by one record at most.

    Arguments:
        slices: the slices of a batch.
        most: the maximum number of parts.
        least: the minimum number of records of a part, if there are several.
    """
    total = records_of(slices)
    number = max(1, min(most, total // least))
    rooms = (total * (index + 1) // number - total * index // number for index in range(number))
    result: list[list[Slice]] = []
    room = 0
    for piece in slices:
        rest = piece
        while rest.count:
            if not room:
                room = next(rooms)
                result.append([])
            taken = min(room, rest.count)
            result[-1].append(replace(rest, count=taken))
            rest = replace(rest, row=rest.row + taken, first=rest.first + taken, count=rest.count - taken)
            room -= taken
    return result
