"""Places in a schema, by the full name of a record and the path below its field."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a type in a schema.

    Arguments:
        record: the full name of the record.
        field: the field of the record.
        steps: the path into the type of the field: `items`, `values`, or the number of a union's branch (from 0).
    """

    record: str
    field: str
    steps: tuple[str | int, ...] = ()

    def inside(self, step: str | int) -> Place:
        """Return the place one step further inside."""
        return replace(self, steps=(*self.steps, step))
