"""Offsets: for each table of a topic its id, a version, and the number of the next record within the version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streamlets.channels.base import Position


class Place(NamedTuple):
    """The next record to read of a table: its version, and its number (from 0) within the version."""

    version: int
    number: int


START = Place(1, 0)
"""The first record of a table: version 0 creates the table."""


@dataclass(frozen=True, slots=True)
class Offset:
    """A position in a topic. A table that it does not have is unread.

    Arguments:
        topic: the id of the topic, generated when the topic was created.
        tables: the id of the table and the place in it, by table name.
    """

    topic: str
    tables: Mapping[str, tuple[str, Place]] = field(default_factory=dict)

    def place(self, table: str) -> Place:
        """Return the place in a table."""
        return self.tables[table][1] if table in self.tables else START

    def joined(self, later: Offset) -> Offset:
        """Return this offset with the places of a later one for the tables that the later one has."""
        return Offset(self.topic, {**self.tables, **later.tables})

    def to_dict(self) -> dict[str, object]:
        """Return the offset as Spark stores it in a checkpoint."""
        tables = {name: [key, place.version, place.number] for name, (key, place) in sorted(self.tables.items())}
        return {"topic": self.topic, "tables": tables}

    def to_position(self) -> Position:
        """Return the offset as a position of the channel interface."""
        return Position(json.dumps(self.to_dict()))

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Offset:
        """Return the offset from what `to_dict` returned."""
        tables = data["tables"]
        assert isinstance(tables, Mapping)
        return cls(str(data["topic"]), {name: (key, Place(v, i)) for name, (key, v, i) in tables.items()})

    @classmethod
    def from_position(cls, position: Position) -> Offset:
        """Return the offset from what `to_position` returned."""
        return cls.from_dict(json.loads(position.json))
