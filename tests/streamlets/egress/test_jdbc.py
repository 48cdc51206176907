"""The sink `jdbc`: each batch changes the table once, in each database."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from blueprint.catalog import ParameterProblem
from streamlets import Sink
from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.errors import (
    ExistingFilesError,
    KeysError,
    RefusedBatchError,
    SinkError,
    TableMismatchError,
)
from streamlets.egress.jdbc.batches import DELETED, JdbcBatches
from streamlets.egress.jdbc.databases import SQLite, UrlError, database
from streamlets.spark.fatal import fatal
from streamlets.storage.crash import VARIABLE
from streamlets.testkit import Testkit
from tests.streamlets.egress.applications import numbers_application


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of each database."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql_server"))
    return f"{request.param}:{tmp_path / 'numbers.db'}"


class Table:
    """A table with a name of its own.

    Arguments:
        url: the database.
        schema: the columns of records.
    """

    def __init__(self, url: str, *columns: str) -> None:
        self.url = url
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.columns = columns or ("id", "Seq", "value")

    def batches(self, **settings: Any) -> JdbcBatches:
        """Return the writer of a query."""
        query = {name: settings.pop(name) for name in ("output_mode", "application") if name in settings}
        options = {"table": self.name, "existing": "fail"}
        options |= {name.replace("_", "-"): text for name, text in settings.items()}
        return JdbcBatches(
            SinkQuery(name="archive", streamlet="archive", query="sink", options=options, **query), database(self.url)
        )

    def write(self, batch: int, *rows: tuple[Any, ...], query: str = "", **settings: Any) -> None:
        """Write a batch."""
        records = pa.Table.from_pylist([dict(zip(self.columns, row, strict=True)) for row in rows])
        self.batches(**settings).commit(ds.dataset(records), query or self.name, batch)

    def rows(self, columns: str = "*") -> list[tuple[Any, ...]]:
        """Return the rows, sorted."""
        with database(self.url).transaction() as cursor:
            cursor.execute(f"SELECT {columns} FROM {self.name}")
            return sorted(map(tuple, cursor.fetchall()), key=repr)


@pytest.fixture
def table(url: str) -> Table:
    """Return a table with three columns."""
    return Table(url)


def test_a_batch_is_written_once(table: Table) -> None:
    """A batch that the database has is not written again; batches of another query are its own."""
    for batch, query in ((0, "a"), (0, "a"), (1, "a"), (0, "a"), (0, "b")):
        table.write(batch, (batch, 1, query), query=f"{table.name}-{query}", existing="append")
    assert table.rows() == [(0, 1, "a"), (0, 1, "b"), (1, 1, "a")]
    known = [table.batches().may_have_written(f"{table.name}-a", batch) for batch in (0, 1, 2)]
    assert known == [True, True, False]


def test_records_replace_the_rows_of_their_keys(table: Table) -> None:
    """A record with a smaller value of `sequence-by` is ignored."""
    settings = {"keys": "id", "sequence_by": "Seq"}
    table.write(0, (1, 5, "a"), (2, 5, "b"), **settings)
    table.write(1, (1, 4, "late"), (2, 5, "same"), (3, 1, None), **settings)
    table.write(2, (3, None, "no order"), (4, 1, "d"), **settings)
    assert table.rows() == [(1, 5, "a"), (2, 5, "same"), (3, 1, None), (4, 1, "d")]


def test_several_keys_and_no_other_columns(url: str) -> None:
    """A row whose columns are all keys is inserted once."""
    table = Table(url, "id", "place")
    table.write(0, (1, "x"), (1, "y"), keys="id, place")
    table.write(1, (1, "y"), (2, "y"), keys="id, place")
    assert table.rows() == [(1, "x"), (1, "y"), (2, "y")]


def test_records_delete_rows(url: str) -> None:
    """A record with the condition deletes the row of its keys, unless the row is newer."""
    table = Table(url, "id", "Seq", "value", DELETED)
    settings = {"keys": "id", "sequence_by": "Seq", "delete_when": "..."}
    table.write(0, (1, 5, "a", False), (2, 5, "b", False), (3, 5, "c", True), **settings)
    table.write(1, (1, 6, "gone", True), (2, 4, "late", True), (4, 1, "never", True), (5, 1, "e", False), **settings)
    assert table.rows() == [(2, 5, "b"), (5, 1, "e")]


def test_an_older_record_does_not_insert_a_deleted_row_again(url: str) -> None:
    """Deletions are remembered with their order, also of rows that did not exist, until a newer record inserts one."""
    table = Table(url, "id", "Seq", "value", DELETED)
    table.name = f"{table.name}_with_a_name_that_is_longer_than_most_others_are"
    settings = {"keys": "id", "sequence_by": "Seq", "delete_when": "..."}
    table.write(0, (1, 5, "a", False), (2, 5, "b", False), **settings)
    table.write(1, (1, 7, "x", True), (3, 4, "x", True), (2, 3, "x", True), **settings)
    assert table.rows() == [(2, 5, "b")]
    table.write(2, (1, 6, "late", False), (3, 3, "late", False), (4, None, "x", True), **settings)
    assert table.rows() == [(2, 5, "b")]
    table.write(3, (1, 6, "x", True), (3, None, "no order", False), (4, 1, "d", False), **settings)
    table.write(4, (1, 6, "still late", False), **settings)
    assert table.rows() == [(2, 5, "b"), (4, 1, "d")]
    table.write(5, (1, 7, "same", False), (3, 9, "c", False), **settings)
    assert table.rows() == [(1, 7, "same"), (2, 5, "b"), (3, 9, "c"), (4, 1, "d")]
    writer = table.batches(**settings)
    with database(url).transaction() as cursor:
        cursor.execute(f"SELECT * FROM {writer._deletions}")
        assert cursor.fetchall() == []


@pytest.mark.parametrize(
    ("rows", "settings", "reason"),
    [
        ([(1, 1, "a"), (1, 2, "b")], {"keys": "id"}, "1 record of the batch has the keys of another one"),
        ([(None, 1, "a"), (2, 2, "b")], {"keys": "id", "sequence_by": "Seq"}, "the key `id` is null"),
    ],
)
def test_keys_that_identify_no_row_are_rejected(
    table: Table, rows: list[tuple[Any, ...]], settings: dict[str, Any], reason: str
) -> None:
    """Nothing is written."""
    table.write(0, (7, 1, "first"), **settings)
    with pytest.raises(KeysError, match=reason):
        table.write(1, *rows, **settings)
    assert table.rows() == [(7, 1, "first")]
    assert not table.batches().may_have_written(table.name, 1)


def test_complete_results_replace_the_rows(table: Table) -> None:
    """In complete mode the table has the last result."""
    table.write(0, (1, 1, "a"), (2, 1, "b"), output_mode="complete")
    table.write(1, (3, 1, "c"), output_mode="complete")
    assert table.rows() == [(3, 1, "c")]


def test_a_batch_that_fails_changes_nothing(table: Table) -> None:
    """The transaction is rolled back, with the number of the batch; the next attempt writes the batch."""
    table.write(0, (1, 1, "a"))
    other = Table(table.url, "id", "Seq", "more")
    other.name = table.name
    with pytest.raises(TableMismatchError, match=f"the table `{table.name}` has no column `more`; add it"):
        other.write(1, (2, 1, "b"))
    assert table.rows() == [(1, 1, "a")]
    table.write(1, (2, 1, "b"))
    assert table.rows() == [(1, 1, "a"), (2, 1, "b")]


def prepare(url: str, *statements: str) -> None:
    """Run statements that somebody else could run."""
    with database(url).transaction() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize(
    ("columns", "rows", "settings"),
    [
        ('id BIGINT NOT NULL, "Seq" BIGINT, value TEXT', [(None, 1, "a"), (1, 1, "b")], {}),
        ('id BIGINT CHECK (id < 5), "Seq" BIGINT, value TEXT', [(5, 1, "a")], {}),
        ('id BIGINT PRIMARY KEY, "Seq" BIGINT, value TEXT', [(7, 1, "a"), (7, 1, "b")], {}),
        ('id BIGINT, "Seq" BIGINT, value TEXT', [(7, 1, "a")], {"keys": "id"}),
        ('id BIGINT, "Seq" BIGINT, value INTEGER', [(7, 1, "a")], {}),
    ],
    ids=["null", "check", "unique", "no-unique-constraint", "type"],
)
def test_what_a_database_refuses_again_fails_at_once(
    url: str, columns: str, rows: list[tuple[Any, ...]], settings: dict[str, Any]
) -> None:
    """The same records would be refused again; SQLite stores strings as integers, if the type is not strict."""
    table = Table(url)
    strict = " STRICT" if url.startswith("sqlite") and "value INTEGER" in columns else ""
    columns = columns.replace("BIGINT", "INTEGER") if strict else columns
    prepare(url, f"CREATE TABLE {table.name} ({columns}){strict}")
    with pytest.raises(RefusedBatchError, match="no data of this batch was written") as caught:
        table.write(0, *rows, **settings)
    assert fatal({type(caught.value).__name__}, building=False)
    assert table.rows() == []
    assert not table.batches().may_have_written(table.name, 0)


def test_a_missing_row_of_a_foreign_key_is_waited_for(url: str) -> None:
    """Another query may insert it; SQLite does not check foreign keys."""
    if url.startswith("sqlite"):
        pytest.skip("SQLite checks no foreign keys by default")
    table = Table(url)
    prepare(
        url,
        f"CREATE TABLE {table.name}_of (id BIGINT PRIMARY KEY)",
        f'CREATE TABLE {table.name} (id BIGINT REFERENCES {table.name}_of (id), "Seq" BIGINT, value TEXT)',
    )
    with pytest.raises(SinkError) as caught:
        table.write(0, (1, 1, "a"))
    assert not fatal({type(caught.value).__name__}, building=False)
    prepare(url, f"INSERT INTO {table.name}_of VALUES (1)")
    table.write(0, (1, 1, "a"))
    assert table.rows() == [(1, 1, "a")]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite rolls back by itself; the message is that of the disk, and another attempt may succeed."""
    table = Table(f"sqlite:{tmp_path / 'numbers.db'}")
    table.write(0, (1, 1, "a"))
    opened = SQLite._open

    def limited(self: SQLite) -> Any:
        connection = opened(self)
        connection.execute("PRAGMA max_page_count = 12")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(SQLite, "_open", limited)
        with pytest.raises(SinkError, match=r"in `.*numbers\.db`: database or disk is full; no data of this") as caught:
            table.write(1, *((id, 1, "x" * 1000) for id in range(100)))
    assert not fatal({type(caught.value).__name__}, building=False)
    assert table.rows() == [(1, 1, "a")]
    table.write(1, (2, 1, "b"))
    assert table.rows() == [(1, 1, "a"), (2, 1, "b")]


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_the_directory_of_a_file_is_created(tmp_path: Path, scheme: str) -> None:
    """As those of the sinks of files; if it cannot be, the message has the path."""
    table = Table(f"{scheme}:{tmp_path}/new/deeper/numbers.db")
    table.write(0, (1, 1, "a"))
    assert table.rows() == [(1, 1, "a")]
    (tmp_path / "file").write_text("")
    table.url = f"{scheme}:{tmp_path}/file/numbers.db"
    with pytest.raises(SinkError, match=r"cannot write to the table .* in `.*/file/numbers\.db`: "):
        table.write(0, (1, 1, "a"))


WRITER = """
import sys
import pyarrow as pa
import pyarrow.dataset as ds
from streamlets.egress import SinkQuery
from streamlets.egress.jdbc.batches import JdbcBatches
from streamlets.egress.jdbc.databases import database

url, table = sys.argv[1:]
query = SinkQuery(name="a", streamlet="a", query="sink", options={"table": table, "existing": "fail"})
records = pa.Table.from_pylist([{"id": id, "Seq": 1, "value": "b"} for id in (2, 3)])
JdbcBatches(query, database(url)).commit(ds.dataset(records), table, 1)
"""


def test_a_process_is_killed_inside_the_transaction(table: Table) -> None:
    """The database rolls back the rows and the number of the batch; the next attempt writes both, once."""
    table.write(0, (1, 1, "a"))
    command = [sys.executable, "-c", WRITER, table.url, table.name]
    killed = subprocess.run(command, env=os.environ | {VARIABLE: "after-manifest"}, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert table.rows() == [(1, 1, "a")]
    for _ in range(2):
        table.write(1, (2, 1, "b"), (3, 1, "b"))
    assert table.rows() == [(1, 1, "a"), (2, 1, "b"), (3, 1, "b")]


def test_two_processes_write_a_batch_once(postgresql_server: str) -> None:
    """The row of the query is locked: the second of two transactions waits, and then does not write the batch."""
    table = Table(postgresql_server)
    table.write(0, (0, 1, "first"))
    threads = [threading.Thread(target=table.write, args=(1, (1, 1, "second"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.rows() == [(0, 1, "first"), (1, 1, "second")]


def test_an_earlier_checkpoint_is_not_appended_again(table: Table) -> None:
    """`existing = append` permits it. A query with keys, or with complete results, replaces the rows."""
    table.write(0, (1, 1, "a"), query=f"{table.name}-1", application="/mine")
    with pytest.raises(ExistingFilesError, match=r"with an earlier checkpoint, so .* `options.existing` to") as refused:
        table.write(0, (1, 1, "a"), query=f"{table.name}-2", application="/mine")
    assert "tables of an earlier checkpoint" in fatal({type(refused.value).__name__}, building=False)
    with pytest.raises(ExistingFilesError, match=r"in another application \(its state directory: `/mine`\)"):
        table.write(0, (1, 1, "a"), query=f"{table.name}-3", application="/theirs")
    table.write(0, (2, 1, "b"), query=f"{table.name}-4", existing="append")
    table.write(0, (3, 1, "c"), query=f"{table.name}-5", output_mode="complete")
    assert table.rows() == [(3, 1, "c")]


def test_values_of_all_types(url: str) -> None:
    """Values are read as they were written; SQLite has strings for dates, timestamps and decimals."""
    table = Table(url)
    instant = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, datetime.UTC)
    values = {
        "flag": (pa.bool_(), True),
        "small": (pa.int32(), -(2**31)),
        "large": (pa.int64(), 2**63 - 1),
        "single": (pa.float32(), 1.5),
        "double": (pa.float64(), 0.1),
        "text": (pa.string(), 'a "b", \\n\n\tc ä'),
        "empty": (pa.string(), ""),
        "day": (pa.date32(), instant.date()),
        "price": (pa.decimal128(10, 2), Decimal("12345678.90")),
        "local": (pa.timestamp("us"), instant.replace(tzinfo=None)),
        "at": (pa.timestamp("us", "UTC"), instant),
    }
    schema = pa.schema([(name, type) for name, (type, _) in values.items()])
    row = {name: value for name, (_, value) in values.items()}
    table.batches().commit(ds.dataset(pa.Table.from_pylist([row, dict.fromkeys(row)], schema)), table.name, 0)
    written, nulls = sorted(table.rows(), key=lambda row: row[0] is None)
    assert set(nulls) == {None}
    if url.startswith("sqlite"):
        texts = ["2024-02-29", "12345678.90", "2024-02-29 12:30:15.123456", "2024-02-29 12:30:15.123456Z"]
        assert list(written) == [1, *list(row.values())[1:7], *texts]
    else:
        assert dict(zip(row, written, strict=True)) == row


def test_a_schema_before_the_name_of_the_table(postgresql_server: str) -> None:
    """PostgreSQL and DuckDB have schemas."""
    table = Table(postgresql_server)
    with database(postgresql_server).transaction() as cursor:
        cursor.execute("CREATE SCHEMA IF NOT EXISTS sales")
    table.name = f"sales.{table.name}"
    table.write(0, (1, 1, "a"), keys="id", sequence_by="Seq")
    table.write(1, (1, 2, "b"), keys="id", sequence_by="Seq")
    assert table.rows() == [(1, 2, "b")]


def test_an_unreachable_database_is_asked_again() -> None:
    """Whether it has a batch is not known, so the query fails, and is started again later."""
    table = Table("postgresql://tester@127.0.0.1:1/none")
    with pytest.raises(SinkError, match="cannot write to the table"):
        table.batches().may_have_written("q", 0)
    with pytest.raises(SinkError, match="cannot write to the table"):
        table.write(0, (1, 1, "a"))


@pytest.mark.parametrize("url", ["oracle:thin:x", "postgresql", "jdbc:", "secret://u:pw@h"])
def test_urls_of_other_databases_are_rejected(url: str) -> None:
    """The message has the schemes, and not the secrets of the URL."""
    with pytest.raises(UrlError) as caught:
        database(url)
    assert "pw" not in str(caught.value)
    sink = SINKS["jdbc"]
    (problem,) = sink.option_problems({"url": url, "table": "t"})
    assert isinstance(problem, ParameterProblem) and problem.path == ("options", "url")


def test_paths_start_in_the_directory_of_the_blueprint(tmp_path: Path) -> None:
    """A relative path does not depend on the working directory; `jdbc:` may be before the URL."""
    for location in ("sqlite:numbers.db", "jdbc:sqlite:numbers.db", f"sqlite://{tmp_path}/numbers.db"):
        assert database(location, directory=tmp_path).place == str(tmp_path / "numbers.db")


@pytest.mark.spark
def test_a_query_writes_the_last_record_of_each_key(spark: SparkSession, tmp_path: Path) -> None:
    """Records of a batch are ordered, and `delete-when` is an expression of Spark."""
    url = f"sqlite:{tmp_path / 'numbers.db'}"
    options = {"url": url, "table": "t", "keys": "id", "sequence-by": "n", "delete-when": "op = 'delete'"}
    schema = {"in": "id long, n long, op string"}
    kit = Testkit(spark, tmp_path / "kit")
    parameters = {"to": "jdbc", "options": options}
    sink = kit.streamlet(Sink, ref="archive", parameters=parameters, schemas=schema, real=True)
    inlet = sink.inlet("in")
    inlet.put([{"id": id, "n": n, "op": "put"} for id, n in ((1, 1), (1, 3), (1, 2), (2, 1), (3, 1))])
    sink.step()
    inlet.put([{"id": 2, "n": 2, "op": "delete"}, {"id": 3, "n": 2, "op": None}])
    sink.step()
    table = Table(url)
    table.name = "t"
    assert table.rows() == [(1, 3, "put"), (3, 2, None)]
    assert not list(tmp_path.rglob("staging/archive/*/*"))


@pytest.mark.spark
def test_a_test_reads_the_records_instead_of_the_database(spark: SparkSession, tmp_path: Path) -> None:
    """The database is not opened unless the test permits it."""
    file = tmp_path / "numbers.db"
    parameters = {"to": "jdbc", "options": {"url": f"sqlite:{file}", "table": "t"}}
    sink = Testkit(spark, tmp_path / "kit").streamlet(Sink, ref="a", parameters=parameters, schemas={"in": "id long"})
    sink.inlet("in").put([{"id": 1}])
    sink.step()
    assert sink.sink().take() == [{"id": 1}]
    assert not file.exists()


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.parametrize("point", ["after-data-files:2", "after-topic-commit:2", "before-spark-commit:2"])
def test_a_killed_run_continues(tmp_path: Path, url: str, point: str) -> None:
    """After a kill at each point (the topic of the sink passes it first), the next run writes each record once."""
    table = Table(url)
    directory = numbers_application(tmp_path, "jdbc", f'url = "{url}", table = {table.name}')
    (directory / "in" / "second.csv").write_text("4\n5\n")
    command = [str(Path(sys.executable).parent / "flow"), "run", str(directory), "--available-now"]
    killed = subprocess.run(command, env=os.environ | {VARIABLE: point}, capture_output=True, check=False, timeout=900)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert table.rows() == [(1,), (2,), (3,), (4,), (5,)]
