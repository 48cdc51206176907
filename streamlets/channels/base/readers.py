"""Positions in topics, readers at them, and what they have yet to read or have missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a topic. Callers store it and compare it for equality; only its channel interprets it.

    Arguments:
        json: the position as a JSON document of the channel's own format.
    """

    json: str


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of a topic.

    Arguments:
        name: its name for display, such as `average.readings`.
        committed: the position up to which it has committed; None if it has not committed anything.
        reading_since: when its unfinished batch was planned, in seconds since the epoch; None without such a batch.
    """

    name: str
    committed: Position | None
    reading_since: float | None = None


@dataclass(frozen=True, slots=True)
class Lag:
    """The backlog of a reader.

    Arguments:
        records: the number of unread records.
        seconds: the age of the oldest unread record, 0.0 if there are none; None if the channel does not know it.
    """

    records: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Records that were dropped before a reader had committed them.

    Arguments:
        topic: the name of the topic.
        reader: the name of the reader.
        first: the position of the first of the records, for display, such as `table/version#number`.
        last: the position of the last of them.
        records: the number of the records.
        time: when they were dropped, in seconds since the epoch.
        cause: what dropped them, such as `retention`.
    """

    topic: str
    reader: str
    first: str
    last: str
    records: int
    time: float
    cause: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """The result of dropping records.

    Arguments:
        records: the number of dropped records.
        bytes: the size of the dropped records in storage.
        files: the number of dropped files.
        held: the number of records that were due but kept because a reader has not committed them, by the reader's
            name.
        missed: what readers lose, if records were dropped that they had not committed.
    """

    records: int = 0
    bytes: int = 0
    files: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    missed: tuple[Missed, ...] = ()
