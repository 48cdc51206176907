"""A topic as one log: its tables found, read forward and merged in the order of their commits."""

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
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.table import REMEDY, Table, commit_path, open_table
from streamlets.channels.delta.table import lost as table_lost
from streamlets.storage import objects

MARKER = "_topic.json"
# What is added to a folder within the same tick of a file system's clock (4 ms, or 2 s on old ones) leaves its time of
# change as it was: only a folder that has been as it is for so many seconds is known from its time alone.
_SETTLED = 3.0


@dataclass(frozen=True, slots=True)
class Slice:
    """Records of one version that lie together in one file: `count` of them from the file's row `row` on.

    `first` is the number of the first one within its version.
    """

    table: str
    contract: str
    path: str
    row_groups: tuple[int, ...]
    row: int
    version: int
    first: int
    count: int
    time: int


@dataclass(slots=True)
class TopicLog:
    """What a reader knows of a topic. Nothing is listed as long as no table is added.

    Arguments:
        path: the topic's folder.
        start: where reading begins; what lies before it is not kept in memory.
        clock: seconds since the epoch.
    """

    path: Path
    start: Offset | None = None
    id: str = ""
    tables: dict[str, Table] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    _folder: object = None
    _marker: object = None

    def check(self, start: Offset) -> None:
        """Make sure that this is the topic which a place speaks of.

        Raises:
            TopicLostError: the topic or a table of it is gone, or has been made again since.
        """
        if start.topic != self.id:
            raise TopicLostError(
                f"topic `{self.path.name}` ({self.path}) was deleted and created again after it was read; {REMEDY}"
            )
        for name, (key, _) in start.tables.items():
            if name not in self.tables or self.tables[name].id != key:
                raise table_lost(self.path / name)

    def refresh(self) -> None:
        """Learn of new tables and commits.

        Raises:
            TopicLostError: the topic or a table of it is gone, or another one is in its place.
        """
        if not self.id:
            self.id, self._marker = topic_id(self.path), objects.identity(self.path / MARKER)
        elif objects.identity(self.path / MARKER) != self._marker:
            raise lost(self.path)
        for table in self.tables.values():
            table.refresh()
        folder = objects.identity(self.path)
        if folder is None or folder != self._folder:
            self._folder = folder if self._find_tables() and self._settled(folder) else None

    def _find_tables(self) -> bool:
        """Open the tables that are new; whether all there are have been made completely.

        A table's folder comes before its first commit, which does not change the topic's folder any more.
        """
        complete = True
        for path in sorted(self.path.iterdir()):
            if path.name in self.tables or path.name.startswith("_") or not path.is_dir():
                continue  # known, or no table: notes of the topic begin with `_`
            if commit_path(path, 0).exists():
                after = self.start.place(path.name).version - 1 if self.start is not None else 0
                self.tables[path.name] = open_table(path, files=True, after=after)
            else:
                complete = False
        return complete

    def _settled(self, folder: tuple[int, int, int] | None) -> bool:
        return folder is not None and 0 <= folder[2] / 1e9 <= self.clock() - _SETTLED

    def end(self) -> Offset:
        """Behind the last record known."""
        return Offset(self.id, {name: (t.id, Place(t.end, 0)) for name, t in self.tables.items()})

    def advance(self, start: Offset, limit: int, until: Offset) -> Offset:
        """Return the end of the next batch: whole commits on from `start`, oldest first, not beyond `until`.

        A batch has at least one commit, and more as long as they fit into `limit`. A commit that was divided would send
        some of its rows behind a watermark that the others have moved; see decision 22.

        Arguments:
            limit: records of a batch.
        """
        places = {name: start.place(name) for name in until.tables}
        taken = 0
        for (table, version), pieces in groupby(self.slices(start, until), key=_commit):
            count = sum(piece.count for piece in pieces)
            if taken and taken + count > limit:
                break
            taken += count
            places[table] = Place(version + 1, 0)
        ended = {name: self._normal(name, place, until.place(name)) for name, place in places.items()}
        return Offset(self.id, {name: (self.tables[name].id, place) for name, place in ended.items()})

    def _normal(self, table: str, place: Place, until: Place) -> Place:
        """One way to say each place: the end of a version is the beginning of the next that has records."""
        after = next(merge(*self._slices(table, place, until), key=_age), None)
        return Place(after.version, after.first) if after is not None else until

    def slices(self, start: Offset, end: Offset) -> Iterator[Slice]:
        """Where the records from `start` to `end` lie, oldest commits first; a few of many cost no more than a few."""
        return merge(*self._by_file(start, end), key=_age)

    def count(self, start: Offset, end: Offset) -> int:
        """How many records lie from `start` to `end`; no data is read."""
        return sum(piece.count for file in self._by_file(start, end) for piece in file)

    def _by_file(self, start: Offset, end: Offset) -> Iterator[Iterator[Slice]]:
        return (file for name in self.tables for file in self._slices(name, start.place(name), end.place(name)))

    def covers(self, start: Offset | None) -> bool:
        """Whether what lies behind a place (None: the beginning) is known, and not let go."""
        begun = self.start or Offset(self.id)
        return all(place <= (start or Offset(self.id)).place(name) for name, (_, place) in begun.tables.items())

    def forget(self, before: Offset) -> None:
        """Let go of what lies before a place nobody will ask for again."""
        self.start = before
        for name, table in self.tables.items():
            files, version = table.files or {}, before.place(name).version
            while files and (oldest := next(iter(files.values()))).segments.last.version < version:
                del files[oldest.path]

    def _slices(self, name: str, start: Place, end: Place) -> Iterator[Iterator[Slice]]:
        """Those of each file with records between two places of a table, a file's own in their order."""
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
                row_groups=file.row_groups,
                row=row + low - segment.first,
                version=segment.version,
                first=low,
                count=high - low,
                time=segment.time,
            )
        row += segment.count


def _commit(piece: Slice) -> tuple[str, int]:
    """The table and version of the commit that a slice belongs to."""
    return piece.table, piece.version


def _age(piece: Slice) -> tuple[int, str, int, int]:
    """What orders the records of a topic: a table's never go back in time."""
    return piece.time, piece.table, piece.version, piece.first


def create_topic(path: Path, clock: Callable[[], float]) -> None:
    """Make a topic's folder and give it an id, or leave the one that is there."""
    path.mkdir(parents=True, exist_ok=True)
    marker = {"id": str(uuid.uuid4()), "created": int(clock() * 1000), "format": 1}
    if not (path / MARKER).exists():
        objects.put_if_absent(path / MARKER, actions.encode([marker]))


def topic_id(path: Path) -> str:
    """The id of the topic in a folder.

    Raises:
        TopicLostError: there is no topic.
    """
    data = objects.read(path / MARKER)
    if data is None:
        raise lost(path)
    return str(json.loads(data)["id"])


def lost(path: Path) -> TopicLostError:
    """The error for a topic that is gone or has been replaced."""
    return TopicLostError(f"the directory of topic `{path.name}` was deleted or replaced ({path}); {REMEDY}")
