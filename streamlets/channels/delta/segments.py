"""Which records of which versions a data file holds, told in little room: a topic may have millions of commits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """Records that came with one version: `count` of them, the first being number `first` of that version.

    `time` is when the version was committed, in milliseconds since the epoch.
    """

    version: int
    first: int
    count: int
    time: int

    @property
    def place(self) -> tuple[int, int]:
        """Its version and first number: what orders records within a table."""
        return self.version, self.first

    @property
    def end(self) -> tuple[int, int]:
        """Its version and the number after its last record."""
        return self.version, self.first + self.count


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of one file, in the file's order: how many there are, the last one, and the rest when asked for.

    A merged file has hundreds, and nobody looks into most of them. So they stay what the log has: entries with commas,
    `<count>:<milliseconds since the one before>[:<versions since the one before>[:<first>]]`, where one version on and
    the number 0 are left out.
    """

    number: int = 0
    final: Segment | None = None
    entries: str = ""

    @classmethod
    def of(cls, segments: Iterable[Segment]) -> Segments:
        """Those of a file that is being written."""
        entries, before = [], Segment(0, 0, 0, 0)
        for segment in segments:
            entry = f"{segment.count}:{segment.time - before.time}"
            step = segment.version - before.version
            if segment.first:
                entry += f":{step}:{segment.first}"
            elif step != 1:
                entry += f":{step}"
            entries.append(entry)
            before = segment
        return cls(len(entries), before, ",".join(entries)) if entries else cls()

    @classmethod
    def from_text(cls, text: str) -> Segments:
        """Read back what `to_text` gave."""
        if not text:
            return cls()
        number, final, entries = text.split(";")
        return cls(int(number), Segment(*map(int, final.split(":"))), entries)

    def to_text(self) -> str:
        """As the log keeps them: their number, the last one in full, the entries."""
        if self.final is None:
            return ""
        final = self.final
        return f"{self.number};{final.version}:{final.first}:{final.count}:{final.time};{self.entries}"

    @property
    def last(self) -> Segment:
        """The last one; a file that was committed has one."""
        assert self.final is not None, "not committed yet"
        return self.final

    @property
    def first(self) -> Segment:
        """The first one; a file that was committed has one."""
        return next(_read(self.entries[: self.entries.find(",")] if "," in self.entries else self.entries))

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Segment]:
        return _read(self.entries)


_ENTRY = re.compile("[^,]+")


def _read(entries: str) -> Iterator[Segment]:
    version = time = 0
    for entry in _ENTRY.finditer(entries):  # one at a time: many files are read beside each other
        count, later, *place = map(int, entry[0].split(":"))
        version, time = version + (place[0] if place else 1), time + later
        yield Segment(version, place[1] if len(place) > 1 else 0, count, time)
