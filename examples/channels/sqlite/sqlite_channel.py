"""A channel over SQLite: a topic is a database file, a commit a row in it.

Every process of the machine can use the topics. A commit and the state of its writer are stored in one transaction, so
a batch is in a topic completely or not at all, and once.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blueprint.catalog import ChannelTraits
from blueprint.plan import TopicPlan
from blueprint.setting import Scope, Setting
from blueprint.setting_types import DURATION
from streamlets.channels.base import Missed, TopicWriteError
from streamlets.channels.channel_type import ChannelType
from streamlets.channels.small import RETENTION, Commit, Content, PurgingTopic, SmallChannel, WriterState
from streamlets.override import override

BUSY = Setting(
    "busy-timeout", DURATION, "How long to wait for a transaction of another process.", "1 minute", scope=Scope.TOPIC
)
TRAITS = ChannelTraits(name="sqlite", reserved=("_", "."), settings=(RETENTION, BUSY), purges=True, deletes=True)

DATABASE = "topic.db"
TABLES = """
CREATE TABLE topic (id TEXT);
CREATE TABLE contracts (number INTEGER PRIMARY KEY, json TEXT UNIQUE);
CREATE TABLE commits (
    number INTEGER PRIMARY KEY, contract INTEGER, time REAL, records INTEGER, bytes INTEGER, data BLOB
);
CREATE TABLE writers (writer TEXT PRIMARY KEY, epoch INTEGER, sequence INTEGER, marker BLOB);
CREATE TABLE missed (entry TEXT);
"""


class SqliteChannelType(ChannelType):
    """The channel, as it is registered."""

    traits = TRAITS

    @override
    def open(self, directory: Path) -> SqliteChannel:
        return SqliteChannel(directory / "_sqlite")


class SqliteChannel(SmallChannel):
    """The topics below a directory."""

    traits = TRAITS

    @override
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(database.parent.name for database in self.directory.glob(f"*/{DATABASE}")))

    @override
    def opened(self, plan: TopicPlan, directory: Path) -> SqliteTopic:
        return SqliteTopic(plan, directory)


class SqliteTopic(PurgingTopic):
    """A topic in a database."""

    traits = TRAITS

    @property
    @override
    def id(self) -> str:
        return str(self.query("SELECT id FROM topic")[0][0])

    @override
    def make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        id = str(uuid.uuid4())
        draft = self.directory / f".{id}"  # so that no process finds a database without its tables
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
                database.executescript(f"BEGIN; {TABLES} COMMIT")
                database.execute("INSERT INTO topic VALUES (?)", (id,))
            os.link(draft, self.directory / DATABASE)
        except FileExistsError:
            pass
        finally:
            draft.unlink(missing_ok=True)

    @override
    def delete(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    @override
    def newest(self) -> int:
        return int(self.query("SELECT COALESCE(MAX(number), 0) FROM commits")[0][0])

    @override
    def commits(self, after: int, until: int) -> list[Commit]:
        columns = "commits.number, contracts.json, records, bytes, time"
        joined = "commits JOIN contracts ON contract = contracts.number"
        statement = f"SELECT {columns} FROM {joined} WHERE commits.number > ? AND commits.number <= ? ORDER BY 1"
        return [Commit(*row) for row in self.query(statement, after, until)]

    @override
    def data(self, commit: int) -> bytes | None:
        rows = self.query("SELECT data FROM commits WHERE number = ?", commit)
        return rows[0][0] if rows else None

    @override
    def claim(self, writer: str, epoch: int) -> WriterState:
        with self.transaction() as database:
            stored = writer_state(database, writer)
            claimed = stored.claimed(writer, epoch)
            if claimed != stored:
                store(database, writer, claimed)
            return claimed

    @override
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        with self.transaction() as database:
            if not writer_state(database, writer).admits(writer, state):
                return False
            database.execute("INSERT OR IGNORE INTO contracts (json) VALUES (?)", (content.contract,))
            database.execute(
                "INSERT INTO commits (contract, time, records, bytes, data) "
                "SELECT number, ?, ?, ?, ? FROM contracts WHERE json = ?",
                (time.time(), content.records, len(content.data), content.data, content.contract),
            )
            store(database, writer, state)
            return True

    @override
    def drop(self, commits: Collection[int], missed: Collection[Missed]) -> None:
        with self.transaction() as database:
            numbers, entries = [(number,) for number in commits], [(json.dumps(asdict(loss)),) for loss in missed]
            database.executemany("UPDATE commits SET records = 0, data = NULL WHERE number = ?", numbers)
            database.executemany("INSERT INTO missed VALUES (?)", entries)

    @override
    def missed(self) -> Iterator[Missed]:
        for row, entry in self.query("SELECT rowid, entry FROM missed"):
            yield Missed(**json.loads(entry))
            with self.transaction() as database:
                database.execute("DELETE FROM missed WHERE rowid = ?", (row,))

    @override
    def sweep(self) -> None:
        if self.exists():
            with self.connection() as database:
                database.execute("VACUUM")

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Open the database; commits are durable when they return."""
        patience = BUSY.of(self.plan.options).seconds
        with closing(sqlite3.connect(self.directory / DATABASE, timeout=patience, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = FULL")
            yield database

    def query(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a query.

        Raises:
            TopicLostError: the topic does not exist.
        """
        if not (self.directory / DATABASE).exists():
            raise self.not_found()
        with self.connection() as database:
            return database.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction, which excludes other writers, and commit it at the end unless there is an error.

        Raises:
            TopicLostError: the topic does not exist.
            TopicWriteError: the database cannot be written.
        """
        if not (self.directory / DATABASE).exists():
            raise self.not_found()
        try:
            with self.connection() as database:
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise TopicWriteError(f"cannot write to the topic `{self.plan.name}`: {error}") from None


def writer_state(database: sqlite3.Connection, writer: str) -> WriterState:
    """Return what the database has of a writer."""
    columns = "SELECT epoch, sequence, marker FROM writers WHERE writer = ?"
    row = database.execute(columns, (writer,)).fetchone()
    return WriterState(*row) if row else WriterState()


def store(database: sqlite3.Connection, writer: str, state: WriterState) -> None:
    """Replace the state of a writer."""
    values = (writer, state.epoch, state.sequence, state.marker)
    database.execute("INSERT OR REPLACE INTO writers VALUES (?, ?, ?, ?)", values)
