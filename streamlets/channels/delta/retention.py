"""Dropping records: whole files, oldest first. Records that a known reader has not committed stay unless forced."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import Dropped, Missed, Reader
from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.compaction import DIRECTORY
from streamlets.channels.delta.missed import write_note
from streamlets.channels.delta.offsets import START, Offset, Place
from streamlets.channels.delta.parquet import data_file
from streamlets.channels.delta.segments import Segment, Segments
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from streamlets.channels.delta.settings import Retention
    from streamlets.channels.delta.table import Table

FilesByTable = Mapping[str, Sequence[DataFile]]
"""Files by the name of their table."""


def expired(tables: Mapping[str, Table], retention: Retention, before: Callable[[float], float]) -> FilesByTable:
    """Return the files that exceed the retention of a topic.

    Arguments:
        tables: the tables of the topic, read with their files.
        retention: the retention of the topic.
        before: returns the time that was so many seconds ago, in seconds since the epoch.
    """
    oldest_first = sorted(
        ((name, file) for name, table in tables.items() for file in _files_with_records(table)),
        key=lambda entry: entry[1].segments.last.time,
    )
    surplus = sum(file.size for _, file in oldest_first) - retention.size.bytes if retention.size else 0
    oldest = before(retention.time.seconds) * 1000 if retention.time else float("-inf")
    chosen: dict[str, list[DataFile]] = {}
    for name, file in oldest_first:
        if surplus <= 0 and file.segments.last.time >= oldest:
            break
        surplus -= file.size
        chosen.setdefault(name, []).append(file)
    return chosen


def older(tables: Mapping[str, Table], before: float | None) -> FilesByTable:
    """Return the files whose records were all committed before a time, in seconds since the epoch; None for all."""
    return {
        name: [file for file in _files_with_records(table) if before is None or file.segments.last.time < before * 1000]
        for name, table in tables.items()
    }


def written_with(tables: Mapping[str, Table], fingerprint: str) -> Mapping[str, Table]:
    """Return the tables of records that were written with the schema of a fingerprint."""
    return {name: table for name, table in tables.items() if parse_contract(table.contract).fingerprint == fingerprint}


@dataclass(frozen=True, slots=True)
class Drop:
    """Drops records from a topic.

    Arguments:
        topic: the directory of the topic.
        tables: its tables, read with their files.
        readers: its readers.
        force: whether to drop records that a reader has not committed.
        cause: what drops the records, reported to readers that miss them.
        clock: returns the time in seconds since the epoch.
    """

    topic: Path
    tables: Mapping[str, Table]
    readers: Sequence[Reader]
    force: bool
    cause: str
    clock: Callable[[], float]

    def plan(self, chosen: FilesByTable) -> tuple[FilesByTable, Dropped]:
        """Return which of the chosen files may be dropped, and the result of dropping them."""
        droppable: dict[str, list[DataFile]] = {}
        held: Counter[str] = Counter()
        for name, files in chosen.items():
            for file in files:
                unread = {reader.name: _unread(file, _first_unread(reader, name)) for reader in self.readers}
                counts = {reader: sum(s.count for s in segments) for reader, segments in unread.items() if segments}
                if counts and not self.force:
                    held.update(counts)
                else:
                    droppable.setdefault(name, []).append(file)
        files = [file for name in droppable for file in droppable[name]]
        missed = tuple(missed for name in droppable for missed, _ in self._missed(name, droppable[name]))
        records, size = sum(file.records for file in files), sum(file.size for file in files)
        return droppable, Dropped(records, size, len(files), dict(held), missed)

    def carry_out(self, chosen: FilesByTable) -> Dropped:
        """Drop the chosen files that may be dropped.

        Raises:
            TopicLostError: a table was deleted.
            OSError: the file system does not accept a commit; the files of its table were not dropped.
        """
        droppable, dropped = self.plan(chosen)
        for name, files in droppable.items():
            table = self.tables[name]
            for missed, paths in self._missed(name, files):
                write_note(self.topic, name, paths, missed)
            crash_point("after-missed-note")
            added = _end_marker(table, files)
            if not table.swap(files, added, "DELETE", self.clock, data_change=True):
                return self.carry_out({name: _remaining(self.tables[name], rest) for name, rest in chosen.items()})
            crash_point("after-drop-commit")
        return dropped

    def _missed(self, table: str, files: Sequence[DataFile]) -> Iterator[tuple[Missed, tuple[str, ...]]]:
        """Yield the records that each reader loses with files of a table, and the paths of these files."""
        for reader in self.readers:
            start = _first_unread(reader, table)
            lost = {file.path: unread for file in files if (unread := _unread(file, start))}
            if not lost:
                continue
            segments = sorted((s for unread in lost.values() for s in unread), key=lambda s: s.place)
            first, last = segments[0], segments[-1]
            missed = Missed(
                topic=self.topic.name,
                reader=reader.name,
                first=f"{table}/{first.version}#{first.first}",
                last=f"{table}/{last.version}#{last.first + last.count - 1}",
                records=sum(segment.count for segment in segments),
                time=self.clock(),
                cause=self.cause,
            )
            yield missed, tuple(lost)


def _files_with_records(table: Table) -> list[DataFile]:
    return [file for file in (table.files or {}).values() if file.records]


def _remaining(table: Table, files: Sequence[DataFile]) -> list[DataFile]:
    """Return the files that are still in the table, after another process has changed it."""
    return [file for file in files if file.path in (table.files or {})]


def _first_unread(reader: Reader, table: str) -> Place:
    """Return the place of the first record of a table that the reader has not committed."""
    return Offset.from_position(reader.committed).place(table) if reader.committed is not None else START


def _unread(file: DataFile, start: Place) -> list[Segment]:
    """Return the segments of a file from a place on."""
    segments: list[Segment] = []
    if file.segments.last.version < start.version:
        return segments
    for segment in file.segments:
        skipped = max(0, start.number - segment.first) if segment.version == start.version else 0
        if segment.version >= start.version and skipped < segment.count:
            first, count = segment.first + skipped, segment.count - skipped
            segments.append(Segment(segment.version, first, count, segment.time))
    return segments


def _end_marker(table: Table, dropped: Sequence[DataFile]) -> list[DataFile]:
    """Return a file without records that keeps the end of a table, if the last file of the table is dropped.

    Otherwise the end of the table would move back, and readers would be after the end.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    files = list((table.files or {}).values())
    last = files[-1]
    if last not in dropped:
        return []
    path = table.path / DIRECTORY / f"{uuid.uuid4().hex}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_batches([], schema=arrow_schema(parse_contract(table.contract))), path)
    written = data_file(table.path, path)
    end = last.segments.last
    marker = Segments.of([Segment(*end.end, 0, end.time)])
    return [DataFile(written.path, written.size, written.row_groups, last.partition, marker)]
