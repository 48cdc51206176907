"""`Path`: where inside a row a reason holds, known in part only when the row is there (`orders[3].price`)."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Path:
    """Text and, for the positions of items and the keys of maps, columns."""

    pieces: tuple[str | Column, ...] = ()

    def field(self, name: str) -> Path:
        """The field `name` of what stands here."""
        return Path((*self.pieces, f".{name}" if self.pieces else name))

    def item(self, index: Column) -> Path:
        """The item at `index` of the array that stands here."""
        return Path((*self.pieces, "[", index.cast("string"), "]"))

    def value(self, key: Column) -> Path:
        """The value under `key` of the map that stands here."""
        return Path((*self.pieces, "['", key, "']"))

    def say(self, *reason: str | Column) -> Column:
        """The reason as text that begins with this path; columns in it are shown as text, null as `null`."""
        merged: list[str | Column] = []
        for piece in ("`", *self.pieces, "`: ", *reason):
            if isinstance(piece, str) and merged and isinstance(merged[-1], str):
                merged[-1] += piece
            else:
                merged.append(piece)
        columns = [F.lit(p) if isinstance(p, str) else F.coalesce(p.cast("string"), F.lit("null")) for p in merged]
        return columns[0] if len(columns) == 1 else F.concat(*columns)
