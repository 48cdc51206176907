"""A spout that follows a table of PostgreSQL by logical decoding: it reads the log of the database, in commit order.

This needs no triggers, and writers do not wait for it. A replication slot keeps the log until the spout has committed
the changes. The server must run with `wal_level = logical`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
from psycopg import sql

from capture.orders import COLUMNS, KEY, SCHEMA, TABLE, change
from capture.pgoutput import Commit, Decoder, RowChange, Truncated
from streamlets import (
    AvroOutlet,
    DurationParameter,
    GeneratorSpout,
    IntegerParameter,
    SpoutOutput,
    SpoutTransaction,
    StringParameter,
)

_PEEK = (
    "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s, %s, 'proto_version', '1', 'publication_names', %s)"
)
_IDLE_LOG = 16 * 1024 * 1024  # after so many bytes of log without changes of the table, these are released


class SlotError(Exception):
    """The replication slot cannot be used."""


class TruncatedError(Exception):
    """The table was truncated, and the log does not have the rows that were deleted."""


class Orders(GeneratorSpout):
    """Delivers all rows at first, and then each change. A transaction of the database is never split."""

    out = AvroOutlet(schema=SCHEMA)
    database = StringParameter("The URL of the database; a password belongs in `~/.pgpass` or `PGPASSWORD`")
    slot = StringParameter("The name of its replication slot and its publication", default="streamlets_orders")
    poll = DurationParameter("How often to look for changes", default="0.5 seconds")
    changes = IntegerParameter("After so many changes, a transaction of the spout ends", default=10_000)

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        """Follow the table from the place `resume`; without one, begin with all rows."""
        poll = out.value(self.poll).seconds
        with closing(Source(out.value(self.database), out.value(self.slot))) as source:
            while not source.has_table():
                if out.bounded or out.wait(poll):
                    return
            if resume is None:
                source.require_free()
                resume = {"slot": source.slot, "end": None}
                yield out.transaction([], resume=resume)  # a slot with this name is ours from now on
            if resume["end"] is None:
                end, rows = source.snapshot()
                resume = {"slot": source.slot, "end": end, "position": end}
                yield out.transaction(rows, resume=resume)
            source.require_unread(resume["end"])
            while True:
                source.release(resume["end"])  # the changes before it are committed in the topic
                changes, end, position = source.changes(resume["position"], out.value(self.changes))
                if changes or end - resume["end"] > _IDLE_LOG:
                    resume = {"slot": source.slot, "end": end, "position": position}
                    yield out.transaction(changes, resume=resume)
                elif out.bounded or out.wait(poll):
                    return


class Source:
    """The database and its replication slot. Places in its log (LSN) are integers.

    Arguments:
        url: the database.
        slot: the name of the slot and of the publication.
    """

    def __init__(self, url: str, slot: str) -> None:
        self.slot = slot
        self._url = url
        self._connection: Any = psycopg.connect(url, autocommit=True)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def has_table(self) -> bool:
        """Return whether the table exists."""
        return self._value("SELECT to_regclass(%s) IS NOT NULL", TABLE) is True

    def require_free(self) -> None:
        """Require that there is no slot, which another application may use.

        Raises:
            SlotError: there is one.
        """
        if self._released() is not None:
            raise SlotError(
                f"the replication slot `{self.slot}` exists. If no other application uses it, run SELECT "
                f"pg_drop_replication_slot('{self.slot}'); otherwise set another name with the parameter `slot`"
            )

    def require_unread(self, end: int) -> None:
        """Require that the slot has all changes after a place.

        Raises:
            SlotError: it does not.
        """
        released = self._released()
        if released is None or released > end:
            what = "does not exist" if released is None else "was read by another program"
            raise SlotError(
                f"the replication slot `{self.slot}` {what}, so changes were lost. Delete the replica and the slot, "
                "and run with `--fresh`"
            )

    def snapshot(self) -> tuple[int, Iterator[dict[str, object]]]:
        """Create the slot; return its place in the log, and the rows of the table at that place."""
        name = sql.Identifier(self.slot)
        if self._released() is not None:  # of an attempt that failed
            self._value("SELECT pg_drop_replication_slot(%s)", self.slot)
        if not self._value("SELECT count(*) FROM pg_publication WHERE pubname = %s", self.slot):
            table = sql.Identifier(TABLE)
            self._connection.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(name, table))
            # Without this, an update that does not change a large value would not have it in the log.
            self._connection.execute(sql.SQL("ALTER TABLE {} REPLICA IDENTITY FULL").format(table))
        replication: Any = psycopg.connect(self._url, autocommit=True, replication="database")
        create = sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT").format(name)
        _, place, snapshot, _ = replication.execute(create.as_string(None)).fetchone()
        high, _, low = place.partition("/")
        position = int(high, 16) << 32 | int(low, 16)
        return position, self._rows(snapshot, position, replication)

    def changes(self, position: int, most: int) -> tuple[list[dict[str, object]], int, int]:
        """Return the changes of the next transactions, the place after these, and the position of the last change.

        Arguments:
            position: that of the change before.
            most: no further transaction is read after so many messages.

        Raises:
            TruncatedError: the table was truncated.
        """
        end: int = self._value("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
        decoder = Decoder()
        changes: list[dict[str, object]] = []
        transaction: list[RowChange] = []
        for (message,) in self._connection.execute(_PEEK, (self.slot, _lsn(end), most, self.slot)):
            match decoder.decode(message):
                case RowChange(table=table) as row_change if table == TABLE:
                    transaction.append(row_change)
                case Truncated():
                    raise TruncatedError(
                        f"the table `{TABLE}` was truncated, which a replica cannot follow: use DELETE. Delete the "
                        "replica and the slot, and run with `--fresh`"
                    )
                case Commit() as commit:
                    end = commit.end
                    position = max(position, commit.place)
                    for row_change in transaction:
                        for row, deleted in _rows_after(row_change):
                            position += 1
                            changes.append(change(position, row, deleted=deleted))
                    transaction = []
        return changes, end, position

    def release(self, end: int) -> None:
        """Let the server delete its log before a place."""
        self._value("SELECT pg_replication_slot_advance(%s, %s)", self.slot, _lsn(end))

    def _released(self) -> int | None:
        """Return the place before which the slot has released the log; None if there is no slot."""
        query = "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = %s"
        released: int | None = self._value(query, self.slot)
        return released

    def _rows(self, snapshot: str, position: int, replication: Any) -> Iterator[dict[str, object]]:
        """Yield the rows of a snapshot, which exists as long as the connection that has created the slot."""
        with closing(replication), self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self._connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(snapshot))
            columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
            with self._connection.cursor("snapshot") as cursor:  # the server keeps the rows, not this process
                cursor.execute(sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(TABLE)))
                for row in cursor:
                    yield change(position, dict(zip(COLUMNS, row, strict=True)))

    def _value(self, query: str, *values: object) -> Any:
        """Return the value that a query returns; None if it returns no row."""
        row = self._connection.execute(query, values).fetchone()
        return row[0] if row is not None else None


def _lsn(place: int) -> str:
    """Return a place in the log as PostgreSQL writes it."""
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"


def _rows_after(row_change: RowChange) -> Iterator[tuple[Any, bool]]:
    """Yield the rows that a change deletes and writes, and whether they are deleted. A changed key is one of each."""
    old, new = row_change.old, row_change.new
    if old is not None and (new is None or new[KEY] != old[KEY]):
        yield old, True
    if new is not None:
        yield new, False
