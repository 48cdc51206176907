"""The sinks of `kills sinks`: the options of each, its server, its crash points, and a reader of its output."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds

from tests.kafka.broker import Broker
from tests.streamlets.egress.postgresql import programs, running
from tests.streamlets.egress.receiver import Receiver, receiving

_TABLE = ("after-data-files", "after-topic-commit", "before-spark-commit")
_DATABASE = ("after-data-files", "after-manifest", "after-topic-commit", "before-spark-commit")
_FILES = ("after-data-files", "after-manifest", "during-rename", "before-spark-commit")
_TOPIC = "numbers"
_QUIET_SECONDS = 60.0  # that a broker may take for an answer

MODULE = '''
"""What an author writes for the sinks `function` and `data-source`."""

from pathlib import Path

from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage
from streamlets.storage.crash import crash_point


def save(rows, batch, *, path):
    """Write a file per batch."""
    numbers = [row[0] for row in rows.collect()]
    crash_point("after-data-files")
    write(Path(path), f"{batch}.txt", "w", numbers)
    crash_point("before-spark-commit")


def append(rows, batch, *, path):
    """Append to one file, so that a batch that runs again is there twice."""
    numbers = [row[0] for row in rows.collect()]
    crash_point("after-data-files")
    write(Path(path), "all.txt", "a", numbers)
    crash_point("before-spark-commit")


def write(directory, name, mode, numbers):
    directory.mkdir(exist_ok=True)
    with (directory / name).open(mode) as file:
        file.write("".join(f"{n}\\n" for n in numbers))


class Replacing(DataSource):
    """Writes a file per batch."""

    def streamWriter(self, schema, overwrite):
        return Writer(Path(self.options["path"]))


class Appending(DataSource):
    """Appends to one file, so that a batch that runs again is there twice."""

    def streamWriter(self, schema, overwrite):
        return Appender(Path(self.options["path"]))


class Writer(DataSourceStreamWriter):
    def __init__(self, directory):
        self.directory = directory

    def write(self, rows):
        message = WriterCommitMessage()
        message.numbers = [row[0] for row in rows]
        return message

    def commit(self, messages, batchId):
        write(self.directory, f"{batchId}.txt", "w", numbers_of(messages))


class Appender(Writer):
    def commit(self, messages, batchId):
        write(self.directory, "all.txt", "a", numbers_of(messages))


def numbers_of(messages):
    return [number for message in messages for number in message.numbers]
'''
"""The module `saving` of the job."""


@dataclass
class Server:
    """A server that a sink writes to, while it runs.

    Arguments:
        address: what `{server}` in options stands for.
        receiver: the requests that it took, for the sink `webhook`.
    """

    address: str = ""
    receiver: Receiver | None = None


@contextmanager
def no_server() -> Iterator[Server]:
    """Provide no server, for a sink that does not need one."""
    yield Server()


@contextmanager
def _webhook() -> Iterator[Server]:
    with receiving() as receiver:
        yield Server(receiver.url, receiver)


@contextmanager
def _kafka() -> Iterator[Server]:
    """Run a broker that has the topic."""
    from confluent_kafka.admin import AdminClient, NewTopic

    with tempfile.TemporaryDirectory(prefix="sink-kills-kafka-") as directory, Broker(Path(directory)) as broker:
        admin = AdminClient({"bootstrap.servers": broker.servers})
        admin.create_topics([NewTopic(_TOPIC, 2)])[_TOPIC].result()
        yield Server(broker.servers)


@contextmanager
def _postgresql() -> Iterator[Server]:
    bin = programs()
    if bin is None:
        raise RuntimeError("PostgreSQL is not installed: .ci/postgresql installs it")
    with running(bin) as url:
        yield Server(url)


Read = Callable[[Path, Server], list[int]]


@dataclass(frozen=True)
class Case:
    """A sink.

    Arguments:
        options: its options; `{root}` stands for the directory of its output, `{server}` for the address of its server.
        read: returns the numbers in its output, of the directory and the server.
        points: the crash points of its batches.
        once: whether each number must be there once; otherwise at least once.
        sink: its name; the name of the case if it is empty.
        rows: the view that is saved, `numbers` or, as strings, `lines`.
        server: runs the server that it needs.
    """

    options: dict[str, str]
    read: Read
    points: Sequence[str] = ()
    once: bool = True
    sink: str = ""
    rows: str = "numbers"
    server: Callable[[], AbstractContextManager[Server]] = no_server


def _files(format: str) -> Read:
    def read(root: Path, server: Server) -> list[int]:
        paths = [str(path) for path in (root / "out").glob(f"*.{format}")]
        rows = ds.dataset(paths, format=format).to_table().to_pylist() if paths else []
        return [int(row["id"]) for row in rows]

    return read


def _listed_files(root: Path, server: Server) -> list[int]:
    """Read the files in the log of Spark's sink of files, as Spark does."""
    logs = [path for path in (root / "out" / "_spark_metadata").glob("[0-9]*") if path.is_file()]
    entries = [json.loads(line) for path in logs for line in path.read_text().splitlines()[1:]]
    paths = sorted({entry["path"].removeprefix("file://") for entry in entries})
    return ds.dataset(paths, format="parquet").to_table()["id"].to_pylist() if paths else []


def _lines(root: Path, server: Server) -> list[int]:
    return [int(line) for path in (root / "out").glob("*.txt") for line in path.read_text().split()]


def _delta(root: Path, server: Server) -> list[int]:
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(str(root / "out")):
        return []
    return DeltaTable(root / "out").to_pyarrow_table()["id"].to_pylist()  # type: ignore[no-any-return]


def _sqlite(root: Path, server: Server) -> list[int]:
    connection = sqlite3.connect(root / "out.db")
    try:
        return [row[0] for row in connection.execute("SELECT id FROM numbers")]
    except sqlite3.OperationalError:
        return []  # the table does not exist yet
    finally:
        connection.close()


def _duckdb(root: Path, server: Server) -> list[int]:
    import duckdb

    with duckdb.connect(str(root / "out.duckdb")) as connection:
        try:
            return [row[0] for row in connection.execute("SELECT id FROM numbers").fetchall()]
        except duckdb.CatalogException:
            return []  # the table does not exist yet


def _postgresql_rows(root: Path, server: Server) -> list[int]:
    import psycopg

    with psycopg.connect(server.address) as connection:
        try:
            return [row[0] for row in connection.execute("SELECT id FROM numbers").fetchall()]
        except psycopg.errors.UndefinedTable:
            return []  # the table does not exist yet


def _iceberg(root: Path, server: Server) -> list[int]:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    catalog = load_catalog("default", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/warehouse")
    try:
        return catalog.load_table("lake.numbers").scan().to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]
    except NoSuchTableError:
        return []


def _taken(root: Path, server: Server) -> list[int]:
    assert server.receiver is not None
    return server.receiver.ids


def _messages(root: Path, server: Server) -> list[int]:
    """Read the topic from its beginning to its present end."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": server.address, "group.id": "sink-kills", "enable.auto.commit": False}
    consumer = Consumer(settings)
    numbers: list[int] = []
    try:
        for partition in consumer.list_topics(_TOPIC, _QUIET_SECONDS).topics[_TOPIC].partitions:
            _, end = consumer.get_watermark_offsets(TopicPartition(_TOPIC, partition), _QUIET_SECONDS)
            consumer.assign([TopicPartition(_TOPIC, partition, 0)])
            offset = 0
            while offset < end:
                message = consumer.poll(_QUIET_SECONDS)
                if message is None or message.error():
                    raise RuntimeError(f"{_TOPIC}: {message.error() if message else 'no message'} at offset {offset}")
                offset = int(message.offset() or 0) + 1
                numbers.append(int(json.loads(message.value() or b"")["id"]))
    finally:
        consumer.close()
    return numbers


_OUT = {"path": "{root}/out"}

CASES = {
    **{name: Case(_OUT, _files(name), _FILES) for name in ("parquet", "orc", "json", "csv")},
    "text": Case(_OUT, _lines, _FILES, rows="lines"),
    "delta": Case(_OUT, _delta, _TABLE),
    "iceberg": Case(
        {
            "table": "lake.numbers",
            "catalog.uri": "sqlite:///{root}/catalog.db",
            "catalog.warehouse": "file://{root}/warehouse",
        },
        _iceberg,
        _TABLE,
    ),
    "jdbc": Case({"url": "sqlite:{root}/out.db", "table": "numbers"}, _sqlite, _DATABASE),
    "jdbc-duckdb": Case({"url": "duckdb:{root}/out.duckdb", "table": "numbers"}, _duckdb, _DATABASE, sink="jdbc"),
    "jdbc-postgresql": Case(
        {"url": "{server}", "table": "numbers"}, _postgresql_rows, _DATABASE, sink="jdbc", server=_postgresql
    ),
    "webhook": Case(
        {"url": "{server}", "max-records": "60"},
        _taken,
        ("after-data-files", "after-manifest", "after-topic-commit", "before-spark-commit"),
        server=_webhook,
    ),
    "spark-files": Case(_OUT, _listed_files),
    "kafka": Case({"kafka.bootstrap.servers": "{server}", "topic": _TOPIC}, _messages, once=False, server=_kafka),
    "function": Case(
        {"function": "saving.save", **_OUT}, _lines, ("after-data-files", "before-spark-commit"), sink="function"
    ),
    "function-appending": Case(
        {"function": "saving.append", **_OUT},
        _lines,
        ("after-data-files", "before-spark-commit"),
        once=False,
        sink="function",
    ),
    "data-source": Case({"class": "saving.Replacing", **_OUT}, _lines),
    "data-source-appending": Case({"class": "saving.Appending", **_OUT}, _lines, once=False, sink="data-source"),
}
"""The sinks that make a claim: all of the reference table except `console`, `terminal`, `memory` and `noop`.

`function` and `data-source` are there twice: with code of an author that replaces the output of a batch that runs
again, and with code that appends. Those without crash points are only killed with `kill -9`.
"""
