"""Decodes the messages of PostgreSQL's output plugin `pgoutput`, version 1 of its protocol.

The messages are described in the chapter "Logical Replication Message Formats" of PostgreSQL's documentation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Row = Mapping[str, object]

_VALUES: Mapping[int, Callable[[str], object]] = {
    16: lambda text: text == "t",  # boolean
    17: lambda text: bytes.fromhex(text.removeprefix("\\x")),  # bytea
    **dict.fromkeys((20, 21, 23), int),  # bigint, smallint, integer
    **dict.fromkeys((700, 701), float),  # real, double precision
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, the id of its type, and whether it belongs to the key of a row."""

    name: str
    type: int
    is_key: bool


Columns = tuple[Column, ...]


class ProtocolError(Exception):
    """A message is not supported."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction.

    Arguments:
        place: the place of its commit in the log.
        end: the place after it.
    """

    place: int
    end: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of a row.

    Arguments:
        table: the name of its table.
        old: the row before the change, or at least its key; None for an insert, and for an update that keeps the key.
        new: the row after the change; None for a delete.
    """

    table: str
    old: Row | None
    new: Row | None


@dataclass(frozen=True, slots=True)
class Truncated:
    """All rows of tables were deleted by TRUNCATE.

    Arguments:
        tables: their names.
    """

    tables: tuple[str, ...]


class Decoder:
    """Decodes the messages of one reading of a slot: they begin with the columns of each table."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[str, Columns]] = {}

    def decode(self, message: bytes) -> Commit | RowChange | Truncated | None:
        """Return what a message means; None if it is not a change.

        Raises:
            ProtocolError: the message is not supported.
        """
        reader = _Reader(message, 1)
        match message[:1]:
            case b"C":
                _, place, end = reader.take("!BQQ")
                return Commit(place, end)
            case b"I" | b"U" | b"D":
                return self._row_change(reader)
            case b"R":
                self._relation(reader)
            case b"T":
                count, _ = reader.take("!iB")
                return Truncated(tuple(self._tables[reader.take("!I")[0]][0] for _ in range(count)))
            case b"B" | b"O" | b"Y" | b"M":
                pass
            case kind:
                raise ProtocolError(f"unknown message {kind!r} of pgoutput")
        return None

    def _relation(self, reader: _Reader) -> None:
        (id,) = reader.take("!I")
        reader.string()  # the schema
        name = reader.string()
        _, count = reader.take("!BH")
        columns = []
        for _ in range(count):
            (flags,) = reader.take("!B")
            column = reader.string()
            type, _ = reader.take("!Ii")
            columns.append(Column(column, type, is_key=bool(flags & 1)))
        self._tables[id] = name, tuple(columns)

    def _row_change(self, reader: _Reader) -> RowChange:
        table, columns = self._tables[reader.take("!I")[0]]
        old: dict[str, object] | None = None
        new: dict[str, object] | None = None
        while not reader.at_end:
            match reader.bytes(1):
                case b"N":
                    new = _row(reader, columns, old or {})
                case b"O":
                    old = _row(reader, columns, {})
                case _:  # b"K": the other columns are null
                    row = _row(reader, columns, {})
                    old = {column.name: row[column.name] for column in columns if column.is_key}
        return RowChange(table, old, new)


def _row(reader: _Reader, columns: Columns, old: Row) -> dict[str, object]:
    """Return the values by column. A large value that did not change is only in the old row.

    Raises:
        ProtocolError: the old row does not have it.
    """
    reader.take("!H")  # the number of columns
    row: dict[str, object] = {}
    for column in columns:
        name = column.name
        match reader.bytes(1):
            case b"n":
                row[name] = None
            case b"u" if name in old:
                row[name] = old[name]
            case b"t":
                text = reader.bytes(reader.take("!i")[0]).decode()
                row[name] = _VALUES.get(column.type, str)(text)
            case _:
                raise ProtocolError(
                    f"the value of `{name}` is large and did not change, so the log does not have it: run ALTER TABLE "
                    "... REPLICA IDENTITY FULL"
                )
    return row


@dataclass(slots=True)
class _Reader:
    """Reads the parts of a message one after the other."""

    message: bytes
    place: int

    @property
    def at_end(self) -> bool:
        return self.place >= len(self.message)

    def take(self, format: str) -> tuple[int, ...]:
        values = struct.unpack_from(format, self.message, self.place)
        self.place += struct.calcsize(format)
        return values

    def bytes(self, size: int) -> bytes:
        self.place += size
        return self.message[self.place - size : self.place]

    def string(self) -> str:
        end = self.message.index(b"\0", self.place)
        return self.bytes(end + 1 - self.place)[:-1].decode()
