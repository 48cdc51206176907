"""The log of a topic: its tables, read incrementally and merged in the order of their commits."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from pathlib import Path

from streamlets.channels.base import TopicLostError
from streamlets.channels.delta import actions
from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.integrity import LOG, damaged_file
from streamlets.channels.delta.offsets import START, Offset, Place
from streamlets.channels.delta.ranges import TopicRange, read_range
from streamlets.channels.delta.table import Table, open_table
from streamlets.channels.delta.table_directory import REMEDY, has_first_commit
from streamlets.channels.delta.table_directory import lost as table_lost
from streamlets.storage import objects
from streamlets.storage.damage import unreadable

MARKER = "_topic.json"
# An entry that is added to a directory within one tick of the file system's clock (4 ms, or 2 s on old ones) does not
# change the directory's modification time. So that time is trusted only after it is this many seconds old.
_SETTLED = 3.0


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive records of one version in one file.

    Arguments:
        table: the name of the table.
        contract: the contract of the table, as JSON.
        path: the path of the file.
        size: the size of the file in bytes.
        row_groups: the number of records in each row group of the file.
        row: the row of the first record in the file, from 0.
        version: the version that added the records.
        first: the number of the first record within its version, from 0.
        count: the number of records.
        time: the time of the commit, in milliseconds since the epoch.
    """

    table: str
    contract: str
    path: str
    size: int
    row_groups: tuple[int, ...]
    row: int
    version: int
    first: int
    count: int
    time: int


@dataclass(slots=True)
class TopicLog:
    """The tables and commits of a topic, as a reader knows them.

    The directory of the topic is listed only when a table may have been added.

    Arguments:
        path: the directory of the topic.
        start: where reading begins; earlier commits are not kept in memory.
        id: the id of the topic; "" before the first `refresh`.
        tables: the tables by name.
        range: the range that a snapshot is limited to; None for all records.
        clock: returns the time in seconds since the epoch.
    """

    path: Path
    start: Offset | None = None
    id: str = ""
    tables: dict[str, Table] = field(default_factory=dict)
    range: TopicRange | None = None
    clock: Callable[[], float] = time.time
    _directory: tuple[int, int, int] | None = None
    _marker: object = None

    def check(self, start: Offset) -> None:
        """Check that an offset belongs to this topic and its tables.

        Raises:
            TopicLostError: the topic or a table of it was deleted, or was created again after the offset was recorded.
            TopicDamagedError: a table ends before the offset.
        """
        if start.topic != self.id:
            raise TopicLostError(
                f"topic `{self.path.name}` ({self.path}) was deleted and created again after it was read; {REMEDY}"
            )
        for name, (key, place) in start.tables.items():
            if name not in self.tables or self.tables[name].id != key:
                raise table_lost(self.path / name)
            if self.tables[name].version < place.version - 1:
                raise self.tables[name].missing_after_end(place.version - 1)

    def refresh(self) -> None:
        """Read new tables and commits.

        Raises:
            TopicLostError: the topic or a table of it was deleted or replaced.
            TopicDamagedError: a file of the topic is missing or incomplete.
        """
        if not self.id:
            self.id, self._marker = topic_id(self.path), objects.identity(self.path / MARKER)
            self.range = read_range(self.path)
        elif objects.identity(self.path / MARKER) != self._marker:
            raise lost(self.path)
        for table in self.tables.values():
            table.refresh()
        directory = objects.identity(self.path)
        if directory is None or directory != self._directory:
            self._directory = directory if self._open_new_tables() and self._settled(directory) else None

    @property
    def directory(self) -> tuple[int, int, int] | None:
        """The identity of the topic's directory, which changes with a new table; None if it cannot be relied on yet."""
        return self._directory

    def _open_new_tables(self) -> bool:
        """Open new tables, and return whether every table has its first commit.

        The directory of a table is created before its first commit, which does not change the topic's directory.
        """
        complete = True
        for path in sorted(self.path.iterdir()):
            if path.name in self.tables or path.name.startswith("_") or not path.is_dir():
                continue  # names of other directories of the topic begin with `_`
            if has_first_commit(path):
                after = self.start.place(path.name).version - 1 if self.start is not None else 0
                self.tables[path.name] = open_table(path, files=True, after=after)
            else:
                complete = False
        return complete

    def _settled(self, directory: tuple[int, int, int] | None) -> bool:
        return directory is not None and 0 <= directory[2] / 1e9 <= self.clock() - _SETTLED

    def begin(self) -> Offset:
        """Return the offset where a reader begins that has no other one."""
        return (self.range.after if self.range is not None else None) or Offset(self.id)

    def end(self) -> Offset:
        """Return the offset after the last known record."""
        if self.range is not None:
            return self.range.until
        return Offset(self.id, {name: (t.id, Place(t.end, 0)) for name, t in self.tables.items()})

    def advance(self, start: Offset, limit: int, until: Offset) -> Offset:
        """Return the end of the next batch, which has whole commits, oldest first.

        A batch has at least one commit, and further ones as long as they fit into the limit. If a commit were divided,
        its first rows could advance the watermark, which would then drop the other rows; see decision 22.

        Arguments:
            start: the beginning of the batch.
            limit: the maximum number of records in a batch of several commits.
            until: the end of the last batch.
        """
        places = {name: start.place(name) for name in until.tables}
        taken = 0
        for (table, version), pieces in groupby(self.slices(start, until), key=_commit):
            count = sum(piece.count for piece in pieces)
            if taken and taken + count > limit:
                break
            taken += count
            places[table] = Place(version + 1, 0)
        ended = {name: self._normalize(name, place, until.place(name)) for name, place in places.items()}
        return Offset(self.id, {name: (self.tables[name].id, place) for name, place in ended.items()})

    def _normalize(self, table: str, place: Place, until: Place) -> Place:
        """Return the unique form of a place: the end of a version becomes the start of the next one with records."""
        after = next(merge(*self._slices(table, place, until), key=_age), None)
        return Place(after.version, after.first) if after is not None else until

    def slices(self, start: Offset, end: Offset) -> Iterator[Slice]:
        """Yield the slices of the records between two offsets, oldest commits first. Older files are not visited."""
        return merge(*self._by_file(start, end), key=_age)

    def count(self, start: Offset, end: Offset) -> int:
        """Return the number of records between two offsets, without reading records."""
        return sum(piece.count for file in self._by_file(start, end) for piece in file)

    def _by_file(self, start: Offset, end: Offset) -> Iterator[Iterator[Slice]]:
        return (file for name in self.tables for file in self._slices(name, start.place(name), end.place(name)))

    def at(self, time: int) -> Offset:
        """Return the offset of the first records of each table that were committed at a time or later.

        Arguments:
            time: the time, in milliseconds since the epoch.
        """
        end = self.end()
        places = {name: place for name, (_, place) in end.tables.items()}
        for name, table in self.tables.items():
            recent = (file for file in (table.files or {}).values() if file.segments.last.time >= time)
            pieces = (piece for file in recent for piece in _slices_of(file, table, START, end.place(name)))
            first = min((piece for piece in pieces if piece.time >= time), key=_age, default=None)
            if first is not None:
                places[name] = Place(first.version, first.first)
        return Offset(self.id, {name: (self.tables[name].id, place) for name, place in places.items()})

    def covers(self, start: Offset | None) -> bool:
        """Return whether all commits after an offset (None: the beginning) are known and not forgotten."""
        known = self.start or self.begin()
        return all(place <= (start or self.begin()).place(name) for name, (_, place) in known.tables.items())

    def forget(self, before: Offset) -> None:
        """Forget the commits before an offset, to save memory."""
        self.start = before
        for name, table in self.tables.items():
            files, version = table.files or {}, before.place(name).version
            while files and (oldest := next(iter(files.values()))).segments.last.version < version:
                del files[oldest.path]

    def _slices(self, name: str, start: Place, end: Place) -> Iterator[Iterator[Slice]]:
        """Yield, for each file, its slices between two places of a table, in their order."""
        table = self.tables[name]
        for file in reversed((table.files or {}).values()):  # in the order of their last versions
            if file.segments.last.version < start.version:
                return
            if file.segments.first.version <= end.version:
                yield _slices_of(file, table, start, end)


def _slices_of(file: DataFile, table: Table, start: Place, end: Place) -> Iterator[Slice]:
    row = 0
    for segment in file.segments:
        low = max(segment.first, start.number) if segment.version == start.version else segment.first
        high = segment.first + segment.count
        if segment.version == end.version:
            high = min(high, end.number)
        if start.version <= segment.version <= end.version and low < high:
            yield Slice(
                table=table.name,
                contract=table.contract,
                path=str(table.path / file.path),
                size=file.size,
                row_groups=file.row_groups,
                row=row + low - segment.first,
                version=segment.version,
                first=low,
                count=high - low,
                time=segment.time,
            )
        row += segment.count


def _commit(piece: Slice) -> tuple[str, int]:
    """Return the table and version of the commit that a slice belongs to."""
    return piece.table, piece.version


def _age(piece: Slice) -> tuple[int, str, int, int]:
    """Return the sort key of a slice in its topic. Within a table, times never decrease."""
    return piece.time, piece.table, piece.version, piece.first


def create_topic(path: Path, clock: Callable[[], float]) -> None:
    """Create the directory of a topic and give it an id, unless it has one.

    Raises:
        TopicDamagedError: the file with the id is damaged.
    """
    path.mkdir(parents=True, exist_ok=True)
    marker = {"id": str(uuid.uuid4()), "created": int(clock() * 1000), "format": 1}
    if not (path / MARKER).exists():
        objects.put_if_absent(path / MARKER, actions.encode([marker]))
    topic_id(path)


def topic_id(path: Path) -> str:
    """Return the id of the topic in a directory.

    Raises:
        TopicLostError: the directory has no topic.
        TopicDamagedError: the file with the id is damaged.
    """
    data = objects.read(path / MARKER)
    if data is None and not any(path.glob(f"*/{LOG}")):
        raise lost(path)
    try:
        return str(json.loads(data or b"")["id"])
    except (ValueError, KeyError, TypeError):
        reason = f"the file with its id is {unreadable(data)}"
        remedy = (
            "delete the file, if it exists: the next run gives the topic a new id and keeps its records, and asks to "
            "reset the checkpoints of its readers with `flow checkpoints reset STREAMLET`"
        )
        raise damaged_file(path, path / MARKER, reason, remedy) from None


def not_found(path: Path) -> TopicLostError:
    """Return the error for an external topic that does not exist."""
    error = TopicLostError(f"the topic `{path.name}` does not exist ({path})")
    error.help = "create the topic, correct its name, or set `managed = yes` to have a run create it"
    return error


def lost(path: Path) -> TopicLostError:
    """Return the error for a topic that was deleted or replaced."""
    return TopicLostError(f"the directory of topic `{path.name}` was deleted or replaced ({path}); {REMEDY}")
