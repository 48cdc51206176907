"""Finding records of a topic: by a position that people have written, and what was deleted before."""

from __future__ import annotations

import re

from streamlets.channels.delta.integrity import commit_path
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.segments import Segment
from streamlets.channels.delta.table import Table
from streamlets.storage import objects

_PLACE = re.compile(r"(?P<table>[^/\s]+)/(?P<version>\d+)#(?P<number>\d+)")


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
