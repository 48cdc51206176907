"""Segments: which records of which versions a data file has, in a compact form for millions of commits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive records of one version.

    Arguments:
        version: the version that added the records.
        first: the number of the first record within the version, from 0.
        count: the number of records.
        time: the time of the commit, in milliseconds since the epoch.
    """

    version: int
    first: int
    count: int
    time: int

    @property
    def place(self) -> tuple[int, int]:
        """The version and the number of the first record, by which records of a table are ordered."""
        return self.version, self.first

    @property
    def end(self) -> tuple[int, int]:
        """The version and the number after the last record."""
        return self.version, self.first + self.count


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a file, in the file's order. All but the last one are parsed on demand.

    A merged file has hundreds of segments, most of which are never read. So they are kept as the log has them:
    comma-separated entries `<count>:<milliseconds since the previous>[:<versions since the previous>[:<first>]]`, where
    a difference of one version and the number 0 are omitted.

    Arguments:
        number: the number of segments.
        final: the last segment; None if there are none.
        entries: the entries of all segments.
    """

    number: int = 0
    final: Segment | None = None
    entries: str = ""

    @classmethod
    def of(cls, segments: Iterable[Segment]) -> Segments:
        """Return the segments of a new file."""
        entries, previous = [], Segment(0, 0, 0, 0)
        for segment in segments:
            entry = f"{segment.count}:{segment.time - previous.time}"
            step = segment.version - previous.version
            if segment.first:
                entry += f":{step}:{segment.first}"
            elif step != 1:
                entry += f":{step}"
            entries.append(entry)
            previous = segment
        return cls(len(entries), previous, ",".join(entries)) if entries else cls()

    @classmethod
    def from_text(cls, text: str) -> Segments:
        """Return the segments from what `to_text` returned."""
        if not text:
            return cls()
        number, final, entries = text.split(";")
        return cls(int(number), Segment(*map(int, final.split(":"))), entries)

    def to_text(self) -> str:
        """Return the segments as the log has them: their number, the last one in full, and the entries."""
        if self.final is None:
            return ""
        final = self.final
        return f"{self.number};{final.version}:{final.first}:{final.count}:{final.time};{self.entries}"

    @property
    def last(self) -> Segment:
        """The last segment; every committed file has one."""
        assert self.final is not None, "a file without segments is not committed"
        return self.final

    @property
    def first(self) -> Segment:
        """The first segment; every committed file has one."""
        return next(_read(self.entries[: self.entries.find(",")] if "," in self.entries else self.entries))

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Segment]:
        return _read(self.entries)


_ENTRY = re.compile("[^,]+")


def _read(entries: str) -> Iterator[Segment]:
    version = time = 0
    for entry in _ENTRY.finditer(entries):  # one at a time, because many files are read concurrently
        count, later, *place = map(int, entry[0].split(":"))
        version, time = version + (place[0] if place else 1), time + later
        yield Segment(version, place[1] if len(place) > 1 else 0, count, time)
