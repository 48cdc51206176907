"""`Path`: the place of a reason inside a row (`orders[3].price`), which partly depends on the row."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Path:
    """A path of strings and, for the indexes of items and the keys of maps, columns."""

    pieces: tuple[str | Column, ...] = ()

    def field(self, name: str) -> Path:
        """Return the path of the field `name`."""
        return Path((*self.pieces, f".{name}" if self.pieces else name))

    def item(self, index: Column) -> Path:
        """Return the path of the item at `index` of an array."""
        return Path((*self.pieces, "[", index.cast("string"), "]"))

    def value(self, key: Column) -> Path:
        """Return the path of the value at `key` of a map."""
        return Path((*self.pieces, "['", key, "']"))

    def say(self, *reason: str | Column) -> Column:
        """Return a reason as a string column that starts with this path; columns become strings, null `null`."""
        merged: list[str | Column] = []
        for piece in ("`", *self.pieces, "`: ", *reason):
            if isinstance(piece, str) and merged and isinstance(merged[-1], str):
                merged[-1] += piece
            else:
                merged.append(piece)
        columns = [F.lit(p) if isinstance(p, str) else F.coalesce(p.cast("string"), F.lit("null")) for p in merged]
        return columns[0] if len(columns) == 1 else F.concat(*columns)
