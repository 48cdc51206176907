"""Where a reader stands in a topic: for each table its id, a version, and the number of the next record within it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streamlets.channels.base import Position


class Place(NamedTuple):
    """The next record to read of one table: the one numbered `number` (from 0) within `version`."""

    version: int
    number: int


START = Place(1, 0)
"""Before a table's first record: version 0 makes the table."""


@dataclass(frozen=True, slots=True)
class Offset:
    """A place in a topic. A table that is not named has not been read from.

    Arguments:
        topic: the topic's id, made when the topic was made.
        tables: (table id, place) by table name.
    """

    topic: str
    tables: Mapping[str, tuple[str, Place]] = field(default_factory=dict)

    def place(self, table: str) -> Place:
        """Where the reader stands in a table."""
        return self.tables[table][1] if table in self.tables else START

    def joined(self, later: Offset) -> Offset:
        """This place, with the tables that a later one names where that one has them."""
        return Offset(self.topic, {**self.tables, **later.tables})

    def to_dict(self) -> dict[str, object]:
        """As Spark's checkpoint keeps it."""
        tables = {name: [key, place.version, place.number] for name, (key, place) in sorted(self.tables.items())}
        return {"topic": self.topic, "tables": tables}

    def to_position(self) -> Position:
        """As the channel's interface hands it out."""
        return Position(json.dumps(self.to_dict()))

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Offset:
        """Read back what `to_dict` gave."""
        tables = data["tables"]
        assert isinstance(tables, Mapping)
        return cls(str(data["topic"]), {name: (key, Place(v, i)) for name, (key, v, i) in tables.items()})

    @classmethod
    def from_position(cls, position: Position) -> Offset:
        """Read back what `to_position` gave."""
        return cls.from_dict(json.loads(position.json))
