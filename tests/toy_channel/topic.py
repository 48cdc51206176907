"""A topic of the channel, and its appender."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.catalog import ChannelTraits
from blueprint.plan import TopicPlan
from streamlets.channels.base import (
    Appender,
    Dropped,
    Missed,
    Position,
    Reader,
    TopicLostError,
    TopicWriteError,
    WriterFencedError,
)
from streamlets.channels.metadata import with_metadata
from streamlets.channels.records import conversion, fitted
from streamlets.channels.replays import Replays
from streamlets.channels.small import SmallTopic
from streamlets.contract.types import arrow_schema
from streamlets.override import override

TRAITS = ChannelTraits(name="toy", reserved=("_",), purges=True, deletes=True)
DATABASE = "topic.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS topic (id TEXT);
CREATE TABLE IF NOT EXISTS commits (number INTEGER PRIMARY KEY, contract TEXT, time REAL, records INTEGER, data BLOB);
CREATE TABLE IF NOT EXISTS writers (writer TEXT PRIMARY KEY, epoch INTEGER, sequence INTEGER, marker BLOB);
CREATE TABLE IF NOT EXISTS missed (entry TEXT);
INSERT INTO topic SELECT '{id}' WHERE NOT EXISTS (SELECT * FROM topic);
"""


class ToyTopic(SmallTopic):
    """A topic in a directory."""

    traits = TRAITS

    def __init__(self, path: Path, plan: TopicPlan) -> None:
        self.plan = plan
        self._path = path

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Return a connection with a transaction, which is the only one of the topic."""
        if not (self._path / DATABASE).exists():
            raise TopicLostError(f"the topic `{self.plan.name}` does not exist ({self._path})")
        with closing(sqlite3.connect(self._path / DATABASE, timeout=600, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    def query(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a query."""
        with self.transaction() as database:
            return database.execute(statement, values).fetchall()

    @override
    def create(self, contracts: Iterable[Contract]) -> None:
        if not self.plan.managed:
            self.end()
            return
        self._path.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path / DATABASE, timeout=600)) as database:
            database.executescript(f"BEGIN IMMEDIATE; {SCHEMA.format(id=uuid.uuid4())} COMMIT;")

    @override
    def delete(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)

    @override
    def appender(
        self, contract: Contract, *, writer: str, epoch: int = 0, partition_by: tuple[str, ...] = ()
    ) -> Appender:
        return ToyAppender(self, contract, writer, epoch)

    @override
    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        commits = self._between("number, contract, time, data", after, until or self.end())
        return (batch for commit in commits if commit[-1] for batch in _records(commit, reader, metadata))

    @property
    @override
    def id(self) -> str:
        return str(self.query("SELECT id FROM topic")[0][0])

    @override
    def end(self) -> Position:
        return self.position(self.query("SELECT COALESCE(MAX(number), 0) FROM commits")[0][0])

    @override
    def advance(self, after: Position, until: Position, records: int) -> Position:
        number, taken = self.number(after), 0
        for commit, size in self._between("number, records", after, until):
            if taken and taken + size > records:
                break
            number, taken = commit, taken + size
        return self.position(number)

    @override
    def purge(
        self,
        readers: Iterable[Reader],
        *,
        before: float | None = None,
        schema: str | None = None,
        force: bool = False,
        dry: bool = False,
    ) -> Dropped:
        chosen = {
            number: (records, size)
            for number, records, size, time, contract in self._between(
                "number, records, LENGTH(data), time, contract", None, self.end()
            )
            if records and (before is None or time < before)
            if schema is None or parse_contract(contract).fingerprint == schema
        }
        held: dict[str, int] = {}
        missed: list[Missed] = []
        for reader in readers:
            unread = {number: sizes for number, sizes in chosen.items() if number > self.number(reader.committed)}
            records = sum(records for records, _ in unread.values())
            if unread and force:
                first, last, cause = str(min(unread)), str(max(unread)), "flow topics purge"
                loss = {"topic": self.plan.name, "reader": reader.name, "first": first, "last": last, "cause": cause}
                missed.append(Missed(**loss, records=records, time=time.time()))
            elif unread:
                held[reader.name] = records
                chosen = {number: sizes for number, sizes in chosen.items() if number not in unread}
        if not dry:
            with self.transaction() as database:
                emptied, losses = [(number,) for number in chosen], [(json.dumps(asdict(loss)),) for loss in missed]
                database.executemany("UPDATE commits SET records = 0, data = NULL WHERE number = ?", emptied)
                database.executemany("INSERT INTO missed VALUES (?)", losses)
        records, size = (sum(column) for column in zip((0, 0), *chosen.values(), strict=True))
        return Dropped(records, size, len(chosen), held, tuple(missed))

    @override
    def missed(self) -> Iterator[Missed]:
        for row, entry in self.query("SELECT rowid, entry FROM missed"):
            yield Missed(**json.loads(entry))
            self.query("DELETE FROM missed WHERE rowid = ?", row)

    @override
    def contracts(self) -> tuple[Contract, ...]:
        return tuple(
            parse_contract(text) for (text,) in self.query("SELECT DISTINCT contract FROM commits WHERE records")
        )

    @property
    @override
    def replays(self) -> Replays:
        return Replays(self._path / "replays", self.id)

    def _between(self, columns: str, after: Position | None, until: Position) -> list[Any]:
        statement = f"SELECT {columns} FROM commits WHERE number > ? AND number <= ? ORDER BY number"
        return self.query(statement, self.number(after), self.number(until))


class ToyAppender(Appender):
    """Appends records of a contract; each append is the next commit."""

    def __init__(self, topic: ToyTopic, contract: Contract, writer: str, epoch: int) -> None:
        self._topic, self._contract, self._writer, self._epoch = topic, contract, writer, epoch
        with topic.transaction() as database:
            self._sequence, self._marker = self._known(database)
            self._store(database)

    @property
    @override
    def last(self) -> int | None:
        return self._sequence if self._sequence >= 0 else None

    @property
    @override
    def marker(self) -> bytes | None:
        return self._marker

    @override
    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        try:
            with self._topic.transaction() as database:
                self._sequence, self._marker = self._known(database)
                if self._sequence >= sequence:
                    return False
                data, records = _encoded(rows, self._contract)
                values = (self._contract.json, time.time(), records, data)
                database.execute("INSERT INTO commits (contract, time, records, data) VALUES (?, ?, ?, ?)", values)
                self._sequence, self._marker = sequence, self._marker if marker is None else marker
                self._store(database)
        except sqlite3.Error as error:
            raise TopicWriteError(f"cannot write to the topic `{self._topic.plan.name}`: {error}") from None
        return True

    def _known(self, database: sqlite3.Connection) -> tuple[int, bytes | None]:
        """Return the last sequence and marker of the writer.

        Raises:
            WriterFencedError: it has a higher epoch.
        """
        statement = "SELECT epoch, sequence, marker FROM writers WHERE writer = ?"
        epoch, sequence, marker = database.execute(statement, (self._writer,)).fetchone() or (self._epoch, -1, None)
        if epoch > self._epoch:
            raise WriterFencedError(
                f"the writer `{self._writer}` of topic `{self._topic.plan.name}` with epoch {self._epoch} was fenced: "
                f"it was opened again with epoch {epoch}; no record was published"
            )
        return sequence, marker

    def _store(self, database: sqlite3.Connection) -> None:
        values = (self._writer, self._epoch, self._sequence, self._marker)
        database.execute("INSERT OR REPLACE INTO writers VALUES (?, ?, ?, ?)", values)


def _encoded(rows: Iterable[pa.RecordBatch], contract: Contract) -> tuple[bytes, int]:
    """Return records as an Arrow stream, and their number."""
    schema, records, sink = arrow_schema(contract), 0, pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in rows:
            stream.write_batch(fitted(batch, schema))
            records += batch.num_rows
    return bytes(sink.getvalue()), records


def _records(commit: Any, reader: Contract | None, metadata: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records of a commit with the schema of a reader, or that of the writer."""
    number, contract, time, data = commit
    convert, first = conversion(parse_contract(contract), reader), 0
    for batch in pa.ipc.open_stream(data):
        records = convert(batch)
        yield with_metadata(records, str(number), first, int(time * 1000)) if metadata else records
        first += batch.num_rows
