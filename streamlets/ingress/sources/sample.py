"""`Sample`: a few records as a source has them, from which a schema can be proposed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from blueprint.wording import counted


class SampleError(Exception):
    """A source cannot be sampled; the message says why."""


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A record of a sample.

    Arguments:
        values: the values by column. A column that the record does not have is omitted.
        place: its place, such as `orders.csv, line 3`.
    """

    values: Mapping[str, Any]
    place: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A few records of a source.

    Arguments:
        rows: the records.
        of: where they are from, such as `2 of 5 files`.
        texts: the columns whose values are texts without a type, as in CSV files; an empty one is null.
        types: the types that the source itself has, as Avro in JSON, by column; None for one that cannot be read.
        doubts: what may be wrong besides the types, by column; "" for what is not about a column.
        options: options that the source needs to read the records, which were found out.
        names: the columns, if they are known without records, in order.
    """

    rows: Sequence[SampledRow]
    of: str
    texts: Collection[str] = ()
    types: Mapping[str, object] = field(default_factory=dict)
    doubts: Sequence[tuple[str, str]] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns in the order in which they were found."""
        return list(dict.fromkeys([*self.types, *self.names, *(name for row in self.rows for name in row.values)]))

    @property
    def size(self) -> str:
        """The number of records and where they are from, in words."""
        return f"{counted(len(self.rows), 'record')} of {self.of}"
