"""Compaction merges small adjacent files of a table into larger ones. No record changes its position.

The merged file has the segments of the files that it replaces. So the position of a reader refers to the same record
before and after, and a reader in the middle of the topic continues. After a kill at any point the log has either the
small files or the merged one. Files that the log does not refer to are swept later.
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

DIRECTORY = "data/compacted"
_ROW_GROUP = 131_072


@dataclass(frozen=True, slots=True)
class Compaction:
    """Which files are merged.

    Arguments:
        goal: the maximum size of a merged file, in bytes. Files of more than half of it are not merged.
        segments: the maximum number of commits in a merged file, because each checkpoint of the log repeats them.
        span: the maximum time between the first and the last record of a merged file, in seconds, so that retention
            finds files whose records have all expired.
        fresh: the minimum number of adjacent small files to merge if each has few commits.
        merged: the same for files that have been merged before. A record is written about three times in total.
    """

    goal: int = 128 * 1024**2
    segments: int = 1000
    span: float = 86400.0
    fresh: int = 32
    merged: int = 8


_FRESH_SEGMENTS = 8


def compact_table(table: Table, compaction: Compaction, clock: Callable[[], float]) -> int:
    """Merge small files of a table, and return the number of files that were replaced.

    Arguments:
        table: the table, read with its files.
        compaction: which files are merged.
        clock: returns the time in seconds since the epoch.

    Raises:
        TopicLostError: the table was deleted.
        TopicWriteError: the file system does not accept the merged file; the topic is unchanged.
    """
    replaced = 0
    for run in tuple(worthwhile((table.files or {}).values(), compaction)):
        merged = _merged(table, run)
        crash_point("after-compacted-file")
        if table.swap(run, [merged], "OPTIMIZE", clock, data_change=False):
            replaced += len(run)
        elif merged.path not in (table.files or {}):  # retention or a purge has removed one of them
            (table.path / merged.path).unlink(missing_ok=True)
        crash_point("after-compaction-commit")
    return replaced


def worthwhile(files: Iterable[DataFile], compaction: Compaction) -> Iterator[tuple[DataFile, ...]]:
    """Yield runs of adjacent files of a partition, each run to be merged into one file.

    Arguments:
        files: the files of a table, in the order of their records.
        compaction: which files are merged.
    """
    partitions: dict[tuple[tuple[str, str | None], ...], list[DataFile]] = {}
    for file in files:
        partitions.setdefault(tuple(sorted(file.partition.items())), []).append(file)
    for members in partitions.values():
        for run in _adjacent_files(members, compaction):
            if len(run) >= (compaction.fresh if _fresh(run[0]) else compaction.merged):
                yield tuple(run)


def _adjacent_files(files: Iterable[DataFile], compaction: Compaction) -> Iterator[list[DataFile]]:
    """Yield the longest runs of files that may be merged."""
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
        and sum(member.size for member in run) + file.size <= compaction.goal
        and sum(len(member.segments) for member in run) + len(file.segments) <= compaction.segments
        and file.segments.last.time - run[0].segments.first.time <= compaction.span * 1000
    )


def _merged(table: Table, run: Sequence[DataFile]) -> DataFile:
    """Write a file with the records of several files, in their order."""
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    path = table.path / DIRECTORY / f"{uuid.uuid4().hex}.parquet"
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
    """Yield batches combined into row groups. A row group per batch would be as slow to read as a file per batch."""
    import pyarrow as pa

    group: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        group.append(batch)
        rows += batch.num_rows
        if rows >= _ROW_GROUP:
            yield pa.Table.from_batches(group)
            group, rows = [], 0
    if group:
        yield pa.Table.from_batches(group)


def _whole(table: Table, file: DataFile) -> Slice:
    """Return a slice with all records of a file."""
    first = file.segments.first
    path = str(table.path / file.path)
    return Slice(
        table.name,
        table.contract,
        path,
        file.size,
        file.row_groups,
        0,
        first.version,
        first.first,
        file.records,
        first.time,
    )


def joined(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments of a merged file, with consecutive segments of a version joined into one."""
    current: Segment | None = None
    for segment in segments:
        if current is not None and current.end == segment.place:
            current = replace(current, count=current.count + segment.count)
            continue
        if current is not None:
            yield current
        current = segment
    if current is not None:
        yield current
