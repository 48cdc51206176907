"""Dropping records: whole files, oldest first, never what a known reader has not committed, unless that is forced."""

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
from streamlets.channels.delta.compaction import FOLDER
from streamlets.channels.delta.missed import note
from streamlets.channels.delta.offsets import START, Offset, Place
from streamlets.channels.delta.parquet import data_file
from streamlets.channels.delta.segments import Segment, Segments
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from blueprint.plan import Retention
    from streamlets.channels.delta.table import Table

Chosen = Mapping[str, Sequence[DataFile]]
"""Files by table."""


def expired(tables: Mapping[str, Table], retention: Retention, now: float) -> Chosen:
    """The files that retention has no more room for.

    Arguments:
        tables: a topic's, read with their files.
        now: seconds since the epoch.
    """
    oldest_first = sorted(
        ((name, file) for name, table in tables.items() for file in _filled(table)),
        key=lambda entry: entry[1].segments.last.time,
    )
    surplus = sum(file.size for _, file in oldest_first) - retention.size.bytes if retention.size else 0
    before = (now - retention.time.seconds) * 1000 if retention.time else float("-inf")
    chosen: dict[str, list[DataFile]] = {}
    for name, file in oldest_first:
        if surplus <= 0 and file.segments.last.time >= before:
            break
        surplus -= file.size
        chosen.setdefault(name, []).append(file)
    return chosen


def older(tables: Mapping[str, Table], before: float | None) -> Chosen:
    """The files all of whose records came before a time (seconds since the epoch); all files for None."""
    return {
        name: [file for file in _filled(table) if before is None or file.segments.last.time < before * 1000]
        for name, table in tables.items()
    }


def written_with(tables: Mapping[str, Table], fingerprint: str) -> Mapping[str, Table]:
    """The tables of records that were written with the schema of a fingerprint."""
    return {name: table for name, table in tables.items() if parse_contract(table.contract).fingerprint == fingerprint}


@dataclass(frozen=True, slots=True)
class Drop:
    """How records are dropped from one topic.

    Arguments:
        topic: its folder; tables: its tables, read with their files.
        readers: whoever reads it.
        force: whether records go that a reader has not committed.
        cause: what those readers are told; clock: seconds since the epoch.
    """

    topic: Path
    tables: Mapping[str, Table]
    readers: Sequence[Reader]
    force: bool
    cause: str
    clock: Callable[[], float]

    def plan(self, chosen: Chosen) -> tuple[Chosen, Dropped]:
        """Which of the chosen files may go, and what that means."""
        going: dict[str, list[DataFile]] = {}
        held: Counter[str] = Counter()
        for name, files in chosen.items():
            for file in files:
                waiting = {reader.name: _unread(file, _floor(reader, name)) for reader in self.readers}
                late = {reader: sum(s.count for s in left) for reader, left in waiting.items() if left}
                if late and not self.force:
                    held.update(late)
                else:
                    going.setdefault(name, []).append(file)
        files = [file for name in going for file in going[name]]
        missed = tuple(missed for name in going for missed, _ in self._missed(name, going[name]))
        records, size = sum(file.records for file in files), sum(file.size for file in files)
        return going, Dropped(records, size, len(files), dict(held), missed)

    def carry_out(self, chosen: Chosen) -> Dropped:
        """Drop those of the chosen files that may go.

        Raises:
            TopicLostError: a table is gone. OSError: the file system refuses; what is told to be dropped is not.
        """
        going, dropped = self.plan(chosen)
        for name, files in going.items():
            table = self.tables[name]
            for missed, paths in self._missed(name, files):
                note(self.topic, name, paths, missed)
            crash_point("after-missed-note")
            come = _end_of(table, files)
            if not table.swap(files, come, "DELETE", self.clock, data_change=True):
                return self.carry_out({name: _still(self.tables[name], left) for name, left in chosen.items()})
            crash_point("after-drop-commit")
        return dropped

    def _missed(self, table: str, files: Sequence[DataFile]) -> Iterator[tuple[Missed, tuple[str, ...]]]:
        """What each reader loses with the files of a table, and which of them hold it."""
        for reader in self.readers:
            floor = _floor(reader, table)
            left = {file.path: unread for file in files if (unread := _unread(file, floor))}
            if not left:
                continue
            segments = sorted((s for unread in left.values() for s in unread), key=lambda s: s.place)
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
            yield missed, tuple(left)


def _filled(table: Table) -> list[DataFile]:
    return [file for file in (table.files or {}).values() if file.records]


def _still(table: Table, files: Sequence[DataFile]) -> list[DataFile]:
    """Those that are in the table, after somebody else has changed it."""
    return [file for file in files if file.path in (table.files or {})]


def _floor(reader: Reader, table: str) -> Place:
    """The first record of a table that the reader has not committed."""
    return Offset.from_position(reader.committed).place(table) if reader.committed is not None else START


def _unread(file: DataFile, floor: Place) -> list[Segment]:
    """The parts of a file from a place on."""
    found: list[Segment] = []
    if file.segments.last.version < floor.version:
        return found
    for segment in file.segments:
        skipped = max(0, floor.number - segment.first) if segment.version == floor.version else 0
        if segment.version >= floor.version and skipped < segment.count:
            first, count = segment.first + skipped, segment.count - skipped
            found.append(Segment(segment.version, first, count, segment.time))
    return found


def _end_of(table: Table, going: Sequence[DataFile]) -> list[DataFile]:
    """A file without records that keeps a table's last place, when the file which has it goes: a table that forgot
    where it ended would send its readers back."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    files = list((table.files or {}).values())
    last = files[-1]
    if last not in going:
        return []
    path = table.path / FOLDER / f"{uuid.uuid4().hex}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_batches([], schema=arrow_schema(parse_contract(table.contract))), path)
    written = data_file(table.path, path)
    end = last.segments.last
    marker = Segments.of([Segment(*end.end, 0, end.time)])
    return [DataFile(written.path, written.size, written.row_groups, last.partition, marker)]
