"""Ranges of a topic: by time, by positions that people write, and the one that a snapshot is limited to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.delta.integrity import commit_path
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.storage import objects
from streamlets.storage.damage import damaged

if TYPE_CHECKING:
    from streamlets.channels.delta.log import TopicLog
    from streamlets.channels.delta.segments import Segment
    from streamlets.channels.delta.table import Table

RANGE = "_range.json"
"""The file of a snapshot that limits it to a range."""

_PLACE = re.compile(r"(?P<table>[^/\s]+)/(?P<version>\d+)#(?P<number>\d+)")


@dataclass(frozen=True, slots=True)
class TopicRange:
    """The part of a topic between two offsets.

    Arguments:
        after: the first; None for the beginning of the topic.
        until: the second.
    """

    after: Offset | None
    until: Offset

    def write(self, topic: Path) -> None:
        """Limit the snapshot in a directory to this range.

        Raises:
            OSError: the file cannot be written.
        """
        content = {
            "after": self.after.to_dict() if self.after is not None else None,
            "until": self.until.to_dict(),
        }
        objects.replace(topic / RANGE, json.dumps(content).encode())


def read_range(topic: Path) -> TopicRange | None:
    """Return the range that the snapshot in a directory is limited to; None without one.

    Raises:
        DamagedFileError: the file is damaged.
    """
    data = objects.read(topic / RANGE)
    if data is None:
        return None
    try:
        content = json.loads(data)
        after = Offset.from_dict(content["after"]) if content["after"] is not None else None
        return TopicRange(after, Offset.from_dict(content["until"]))
    except (ValueError, KeyError, TypeError, AssertionError):
        remedy = "delete the backfill that it belongs to, and begin it again"
        raise damaged("the range of a snapshot", topic / RANGE, data, remedy) from None


def parsed(log: TopicLog, text: str) -> Offset:
    """Return the offset that people see as `table/version#number`, with a comma between tables.

    Arguments:
        log: the log of the topic, with all its commits.
        text: the text.

    Raises:
        ValueError: it has another form, the topic has no such table, or the table ends before.
    """
    end = log.end()
    tables: dict[str, tuple[str, Place]] = {}
    for part in text.split(","):
        match = _PLACE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"`{part.strip()}` is not a position such as `TABLE/VERSION#NUMBER`")
        name, place = match["table"], Place(int(match["version"]), int(match["number"]))
        if name not in log.tables:
            known = ", ".join(f"`{table}`" for table in log.tables) or "none"
            raise ValueError(f"the topic `{log.path.name}` has no table `{name}`; its tables are {known}")
        if place > end.place(name):
            last = end.place(name)
            raise ValueError(f"`{part.strip()}` is after the end of the table, {name}/{last.version}#{last.number}")
        tables[name] = (log.tables[name].id, place)
    return Offset(log.id, tables)


def deleted_since(log: TopicLog, start: int | Offset) -> float | None:
    """Return the time of the oldest record that is left, if records from a start on were deleted, or may be.

    Only a commit that was deleted with the log before a checkpoint leaves open whether it had records.

    Arguments:
        log: the log of the topic, with all its commits.
        start: a time in milliseconds since the epoch, or an offset.

    Returns:
        The time in seconds since the epoch; None if all records from the start on are there.
    """
    left = []
    for name, table in log.tables.items():
        segments = (segment for file in (table.files or {}).values() for segment in file.segments)
        first = min(segments, key=lambda segment: segment.place, default=None)
        if first is None:
            continue
        is_marker = first.count == 0  # it keeps the end of a table whose records were all deleted
        since = start < first.time + is_marker if isinstance(start, int) else start.place(name) < first.place
        if since and (is_marker or _had_earlier_records(table, first)):
            left.append(first.time + is_marker)
    return max(left) / 1000 if left else None


def _had_earlier_records(table: Table, first: Segment) -> bool:
    """Return whether a table had records before a segment, or may have had some."""
    return first.first > 0 or any(_added_records(table, version) for version in range(first.version - 1, 0, -1))


def _added_records(table: Table, version: int) -> bool:
    data = objects.read(commit_path(table.path, version))
    if data is None:
        return True
    return any(segment.count for file in table.decoded(version, data).added for segment in file.segments)
