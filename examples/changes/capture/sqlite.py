"""A spout that follows a table of SQLite: triggers write each change to a second table, which the spout reads.

SQLite has one writer at a time, so the numbers of changes are in the order of their transactions. They have no gaps,
as a transaction that is rolled back returns its numbers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from capture.orders import COLUMNS, KEY, SCHEMA, TABLE, change
from streamlets import (
    AvroOutlet,
    DurationParameter,
    GeneratorSpout,
    PathParameter,
    SpoutOutput,
    SpoutTransaction,
)

CHANGES = f"{TABLE}_changes"

_LISTED = ", ".join(COLUMNS)
_INSTALL = (
    f"CREATE TABLE IF NOT EXISTS {CHANGES} (position INTEGER PRIMARY KEY AUTOINCREMENT, deleted INTEGER, {_LISTED})",
    f"""CREATE TRIGGER IF NOT EXISTS {TABLE}_inserted AFTER INSERT ON {TABLE} BEGIN
      INSERT INTO {CHANGES} (deleted, {_LISTED}) VALUES (0, {", ".join(f"NEW.{name}" for name in COLUMNS)});
    END""",
    f"""CREATE TRIGGER IF NOT EXISTS {TABLE}_updated AFTER UPDATE ON {TABLE} BEGIN
      INSERT INTO {CHANGES} (deleted, {KEY}) SELECT 1, OLD.{KEY} WHERE OLD.{KEY} <> NEW.{KEY};
      INSERT INTO {CHANGES} (deleted, {_LISTED}) VALUES (0, {", ".join(f"NEW.{name}" for name in COLUMNS)});
    END""",
    f"""CREATE TRIGGER IF NOT EXISTS {TABLE}_deleted AFTER DELETE ON {TABLE} BEGIN
      INSERT INTO {CHANGES} (deleted, {KEY}) VALUES (1, OLD.{KEY});
    END""",
)


class ChangesLostError(Exception):
    """Changes were deleted before they were read."""


class Orders(GeneratorSpout):
    """Delivers all rows at first, and each change after that."""

    out = AvroOutlet(schema=SCHEMA)
    database = PathParameter("The file of the database", kind="file")
    poll = DurationParameter("How often to look for changes", default="0.5 seconds")

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        """Follow the table from the position `resume`; without one, begin with all rows."""
        if not self._installed(out):
            return
        with closing(_connected(out.value(self.database))) as connection:
            position = resume
            while True:
                connection.execute("BEGIN")  # all that follows reads one state of the database
                last = _last_position(connection)
                if position is None:
                    yield out.transaction(_rows(connection, last), resume=last)
                elif position < last:
                    yield out.transaction(_changes(connection, position, last), resume=last)
                connection.execute("COMMIT")
                if position is not None and position < last:  # committed by the spout, too
                    connection.execute(f"DELETE FROM {CHANGES} WHERE position <= ?", (last,))
                done = position == last
                position = last
                if done and (out.bounded or out.wait(out.value(self.poll).seconds)):
                    return

    def _installed(self, out: SpoutOutput) -> bool:
        """Create the triggers, once the table exists; return False if the run ends before."""
        while True:
            file = out.value(self.database)
            if file.exists():
                with closing(_connected(file)) as connection:
                    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone():
                        connection.execute("BEGIN IMMEDIATE")
                        for statement in _INSTALL:
                            connection.execute(statement)
                        connection.execute("COMMIT")
                        return True
            if out.bounded or out.wait(out.value(self.poll).seconds):
                return False


def _connected(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, timeout=60.0)
    connection.row_factory = sqlite3.Row
    return connection


def _last_position(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (CHANGES,)).fetchone()
    return row[0] if row is not None else 0


def _rows(connection: sqlite3.Connection, position: int) -> Iterator[dict[str, object]]:
    """Yield all rows of the table, as changes up to a position."""
    for row in connection.execute(f"SELECT {_LISTED} FROM {TABLE}"):
        yield change(position, row)


def _changes(connection: sqlite3.Connection, position: int, last: int) -> Iterator[dict[str, object]]:
    """Yield the changes after a position.

    Raises:
        ChangesLostError: another program has deleted some of them.
    """
    query = f"SELECT position, deleted, {_LISTED} FROM {CHANGES} WHERE position > ? ORDER BY position"
    for row in connection.execute(query, (position,)):
        if row["position"] != position + 1:
            break
        position += 1
        yield change(position, row, deleted=bool(row["deleted"]))
    if position != last:
        raise ChangesLostError(
            f"the changes after {position} are not in the table `{CHANGES}`: another program has deleted them. Only "
            "one application can follow it. Delete the replica, and run with `--fresh`"
        )
