"""Compaction: small neighbouring files of a table merged into larger ones. No record changes its place.

The merged file carries the segments of those it replaces, so every reader's position means the same record before and
after, and a reader in the middle of the topic reads on. A kill at any moment leaves either the small files in the log
or the merged one; what is left over without a name is swept.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import TopicWriteError
from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.log import Slice
from streamlets.channels.delta.parquet import data_file
from streamlets.channels.delta.records import read_slices
from streamlets.channels.delta.segments import Segment, Segments
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

    from streamlets.channels.delta.table import Table

FOLDER = "data/compacted"
_ROW_GROUP = 131_072


@dataclass(frozen=True, slots=True)
class Compaction:
    """What is merged.

    Arguments:
        goal: bytes of a merged file; larger ones than half of it are left alone.
        segments: commits in a merged file at most: the log repeats them with every checkpoint.
        span: seconds that a merged file covers at most, so that retention finds files that are wholly too old.
        fresh: so many neighbouring small files are merged when they come from few commits each.
        merged: so many when they have been merged before; a record is thus written about three times in all.
    """

    goal: int = 128 * 1024**2
    segments: int = 1000
    span: float = 86400.0
    fresh: int = 32
    merged: int = 8


_FRESH_SEGMENTS = 8


def compact_table(table: Table, compaction: Compaction, clock: Callable[[], float]) -> int:
    """Merge what is worth it; how many files were replaced.

    Arguments:
        table: read with its files.

    Raises:
        TopicLostError: the table is gone.
        TopicWriteError: the file system refuses; the topic is as before.
    """
    replaced = 0
    for run in tuple(worthwhile((table.files or {}).values(), compaction)):
        merged = _merged(table, run)
        crash_point("after-compacted-file")
        if table.swap(run, [merged], "OPTIMIZE", clock, data_change=False):
            replaced += len(run)
        else:  # retention or a purge took one of them meanwhile
            (table.path / merged.path).unlink(missing_ok=True)
        crash_point("after-compaction-commit")
    return replaced


def worthwhile(files: Iterable[DataFile], compaction: Compaction) -> Iterator[tuple[DataFile, ...]]:
    """Runs of neighbours to be merged, each into one file; files of one partition are neighbours.

    Arguments:
        files: in the order of their records.
    """
    partitions: dict[tuple[tuple[str, str | None], ...], list[DataFile]] = {}
    for file in files:
        partitions.setdefault(tuple(sorted(file.partition.items())), []).append(file)
    for members in partitions.values():
        for run in _neighbours(members, compaction):
            if len(run) >= (compaction.fresh if _fresh(run[0]) else compaction.merged):
                yield tuple(run)


def _neighbours(files: Iterable[DataFile], compaction: Compaction) -> Iterator[list[DataFile]]:
    """The files cut into the longest runs that may be merged."""
    run: list[DataFile] = []
    for file in files:
        if run and not _continues(run, file, compaction):
            yield run
            run = []
        if _small(file, compaction):
            run.append(file)
    if run:
        yield run


def _small(file: DataFile, compaction: Compaction) -> bool:
    return file.size < compaction.goal // 2 and len(file.segments) < compaction.segments


def _fresh(file: DataFile) -> bool:
    return len(file.segments) < _FRESH_SEGMENTS


def _continues(run: Sequence[DataFile], file: DataFile, compaction: Compaction) -> bool:
    return (
        _small(file, compaction)
        and _fresh(file) == _fresh(run[0])
        and sum(each.size for each in run) + file.size <= compaction.goal
        and sum(len(each.segments) for each in run) + len(file.segments) <= compaction.segments
        and file.segments.last.time - run[0].segments.first.time <= compaction.span * 1000
    )


def _merged(table: Table, run: Sequence[DataFile]) -> DataFile:
    """One file with the records of several, in their order."""
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    path = table.path / FOLDER / f"{uuid.uuid4().hex}.parquet"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(path, arrow_schema(parse_contract(table.contract))) as writer:
            for rows in _row_groups(read_slices((_whole(table, file) for file in run if file.records), None)):
                writer.write_table(rows, row_group_size=_ROW_GROUP)
        written = data_file(table.path, path)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise TopicWriteError(f"cannot merge files of topic `{table.path.parent.name}`: {error}") from None
    segments = Segments.of(joined(segment for file in run for segment in file.segments))
    return DataFile(written.path, written.size, written.row_groups, run[0].partition, segments)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered: a row group for each would be as slow to read as a file for each."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _ROW_GROUP:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _whole(table: Table, file: DataFile) -> Slice:
    """All records of a file."""
    first = file.segments.first
    path = str(table.path / file.path)
    return Slice(
        table.name, table.contract, path, file.row_groups, 0, first.version, first.first, file.records, first.time
    )


def joined(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Segments in one file's order; those that continue each other are one."""
    held: Segment | None = None
    for segment in segments:
        if held is not None and held.end == segment.place:
            held = replace(held, count=held.count + segment.count)
            continue
        if held is not None:
            yield held
        held = segment
    if held is not None:
        yield held
