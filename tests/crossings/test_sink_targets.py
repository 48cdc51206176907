"""Each option of the sinks that are not files of this project, with 1,000 records that other tools read back.

Each pair of a sink and an option has a case here, or the test that has it: a new one fails a test.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamlets.egress import SINKS
from streamlets.egress.errors import ExistingFilesError
from streamlets.egress.files.type import FORMATS
from tests.crossings import sink_readers
from tests.crossings.sink_rows import COUNT, NESTED, RECORDS, SCHEMA, expressions, plain, same, write_input
from tests.crossings.sink_writes import Written
from tests.streamlets.egress import authors_code
from tests.streamlets.egress.receiver import OK, receiving

pytestmark = pytest.mark.spark

ELSEWHERE: Mapping[str, str] = {
    "delta.url": "tests/streamlets/egress/test_object_store.py",
    "delta.storage.": "tests/streamlets/egress/test_object_store.py",
    "kafka.kafka.bootstrap.servers": "tests/streamlets/egress/test_capabilities.py",
    "kafka.topic": "tests/streamlets/egress/test_capabilities.py",
    "kafka.value": "tests/streamlets/egress/test_capabilities.py",
    "kafka.key": "tests/streamlets/egress/test_capabilities.py",
    "kafka.guarantee": "tests/streamlets/egress/test_guarantees.py",
    "kafka.kafka.": "tests/streamlets/egress/test_capabilities.py",
}
"""Options with servers of their own, and the files with their tests."""

CASES: dict[str, str] = {}
"""The name of the test of each option, as `sink.option`."""


def covers(*options: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Note the options that a test covers."""

    def note(test: Callable[..., None]) -> Callable[..., None]:
        CASES.update(dict.fromkeys(options, test.__name__))
        return test

    return note


@pytest.fixture(scope="module")
def input(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the records to a directory, and return it."""
    directory = tmp_path_factory.mktemp("rows")
    write_input(directory / "records.parquet")
    return directory


@pytest.fixture(scope="module")
def rows(spark: SparkSession, input: Path) -> DataFrame:
    """Return the records in two tasks."""
    return spark.newSession().read.parquet(str(input)).repartition(2, "id").cache()


FLAT = [name for name in SCHEMA.names if name not in NESTED]


def delta(path: Path) -> dict[int, dict[str, Any]]:
    """Return the rows of a Delta table."""
    from deltalake import DeltaTable

    return sink_readers.by_number(sink_readers.from_arrow(DeltaTable(path).to_pyarrow_table()))


@covers("delta.path", "delta.existing", "delta.keys", "delta.sequence-by")
def test_delta(rows: DataFrame, tmp_path: Path) -> None:
    """With partitions, of an earlier checkpoint, and with keys of which the last record counts."""
    for partition_by in ((), ("flag", "day"), ("part",), ("at",)):
        path = tmp_path / f"by {partition_by} #?*{{é}} 100%"
        Written("delta", tmp_path, {"path": str(path)}, partition_by).write(rows)
        same(delta(path), SCHEMA.names)
    options = {"path": "appended"}
    half = rows.where("id < 500")
    Written("delta", tmp_path, options).write(half)
    with pytest.raises(ExistingFilesError):
        Written("delta", tmp_path, {**options, "existing": "fail"}).write(rows.where("id >= 500"))
    Written("delta", tmp_path, {**options, "existing": "append"}).write(rows.where("id >= 500"))
    same(delta(tmp_path / "appended"), SCHEMA.names)
    keyed = Written("delta", tmp_path, {"path": "keyed", "keys": "id", "sequence-by": "version"}, ("part",))
    _keyed(keyed, rows)
    found = delta(tmp_path / "keyed")
    assert {row.pop("version") for row in found.values()} == {2}
    same(found, SCHEMA.names)


def _keyed(sink: Written, rows: DataFrame) -> None:
    """Write versions 1 and 2 of each record in one batch, and version 0 in the next one."""
    sink.write(rows.selectExpr("*", "1 AS version").union(rows.selectExpr("*", "2 AS version")), 0)
    sink.write(rows.selectExpr("*", "0 AS version"), 1)


@covers("iceberg.table", "iceberg.catalog.name", "iceberg.catalog.", "iceberg.existing")
def test_iceberg(rows: DataFrame, tmp_path: Path) -> None:
    """Tables in two namespaces and two catalogs, with partitions, and of an earlier checkpoint."""
    from pyiceberg.catalog import load_catalog

    for name, table, partition_by in (
        *(("default", "lake.records", ()), ("other", "a.b.records", ("flag", "day"))),
        *(("default", "lake.parts", ("part",)),),
    ):
        place = {"uri": f"sqlite:///{tmp_path}/{name}.db", "warehouse": f"file://{tmp_path}/{name}"}
        options = {"table": table, "catalog.name": name, **{f"catalog.{key}": value for key, value in place.items()}}
        Written("iceberg", tmp_path, options, partition_by).write(rows.where("id < 500"))
        with pytest.raises(ExistingFilesError):
            Written("iceberg", tmp_path, {**options, "existing": "fail"}, partition_by).write(rows)
        rest = rows.where("id >= 500")
        Written("iceberg", tmp_path, {**options, "existing": "append"}, partition_by).write(rest)
        found = load_catalog(name, **place).load_table(table).scan().to_arrow()
        same(sink_readers.by_number(sink_readers.from_arrow(found)), SCHEMA.names)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Return the options of each database."""
    if request.param == "postgresql":
        url, _, location = str(request.getfixturevalue("postgresql_server")).partition("tester@")
        return {"url": f"{url}{location}", "user": "tester", "password": "not asked for"}
    return {"url": f"{request.param}:new/records.db"}


def table(options: Mapping[str, Any], root: Path, name: str) -> dict[int, dict[str, Any]]:
    """Return the rows of a table, read by the database's own driver."""
    if options["url"].startswith("duckdb"):
        with duckdb.connect(str(root / "new" / "records.db")) as connection:
            found: pa.Table = connection.execute(f"SELECT * FROM {name}").to_arrow_table()
        return sink_readers.by_number(sink_readers.from_arrow(found))
    if options["url"].startswith("sqlite"):
        cursor = sqlite3.connect(root / "new" / "records.db").execute(f"SELECT * FROM {name}")
        names = [column[0] for column in cursor.description]
        return sink_readers.by_number(_from_sqlite(dict(zip(names, row, strict=True))) for row in cursor)
    with psycopg.connect(options["url"], user="tester") as connection:
        found_rows = connection.execute(f"SELECT * FROM {name}")
        names = [column.name for column in found_rows.description]
        return sink_readers.by_number(dict(zip(names, row, strict=True)) for row in found_rows)


def _from_sqlite(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of SQLite, which has strings for dates, timestamps and decimals."""
    texts = {name: sink_readers.value_of(name, row[name]) for name in ("amount", "day", "at", "local") if name in row}
    flag = None if row.get("flag") is None else bool(row["flag"])
    return row | texts | ({"flag": flag} if "flag" in row else {})


@covers(
    *("jdbc.url", "jdbc.table", "jdbc.user", "jdbc.password", "jdbc.existing"),
    *("jdbc.keys", "jdbc.sequence-by", "jdbc.delete-when"),
)
def test_jdbc(rows: DataFrame, tmp_path: Path, database: dict[str, Any]) -> None:
    """Each database: appended, of an earlier checkpoint, with keys, and with deletions."""
    flat = rows.selectExpr(*FLAT)
    if database["url"].startswith("sqlite"):  # it has no NaN
        flat = flat.selectExpr(
            *(name if name not in ("single", "ratio") else f"nanvl({name}, NULL) AS {name}" for name in FLAT)
        )
    names = FLAT
    Written("jdbc", tmp_path, {**database, "table": "records"}).write(flat.where("id < 500"))
    with pytest.raises(ExistingFilesError):
        Written("jdbc", tmp_path, {**database, "table": "records", "existing": "fail"}).write(flat)
    Written("jdbc", tmp_path, {**database, "table": "records", "existing": "append"}).write(flat.where("id >= 500"))
    found = table(database, tmp_path, "records")
    _same(found, names, database)
    keyed = {**database, "table": "keyed", "keys": "id", "sequence-by": "version", "delete-when": "version = 3"}
    sink = Written("jdbc", tmp_path, keyed)
    _keyed(sink, flat)
    sink.write(flat.where("id < 100").selectExpr("*", "3 AS version"), 2)
    kept = table(database, tmp_path, "keyed")
    assert sorted(kept) == list(range(100, COUNT))
    assert {row.pop("version") for row in kept.values()} == {2}
    _same({**{id: found[id] for id in range(100)}, **kept}, names, database)


def _same(found: dict[int, dict[str, Any]], names: Sequence[str], database: Mapping[str, Any]) -> None:
    """Compare rows with the records; NaN is null in SQLite."""
    if not database["url"].startswith("sqlite"):
        same(found, names)
        return
    for id, row in RECORDS.items():
        wanted = {name: plain(row[name]) for name in names}
        assert found[id] == {
            name: None if value == "NaN" and name != "text" else value for name, value in wanted.items()
        }


@covers("webhook.url", "webhook.max-records", "webhook.max-bytes", "webhook.timeout", "webhook.attempts")
def test_webhook(rows: DataFrame, tmp_path: Path) -> None:
    """Requests of at most so many records and bytes; the first one is sent twice."""
    for options in ({}, {"max-records": 7}, {"max-bytes": "2 KiB"}, {"timeout": "10 seconds", "attempts": 2}):
        with receiving() as receiver:
            if "attempts" in options:
                receiver.answer = lambda number, records: (503, {"Retry-After": "0"}, "") if number == 0 else OK
            sink = Written("webhook", tmp_path, {"url": receiver.url, **options})
            sink.write(rows.selectExpr("id", "text", "at"))
            sent = [len(records) for _, records in receiver.requests]
            assert max(sent) <= int(str(options.get("max-records", 500)))
            taken = [record for records in receiver.taken.values() for record in records]
            values = ({n: sink_readers.json_value(n, row[n]) for n in ("id", "text", "at")} for row in taken)
            same(sink_readers.by_number(values), ("id", "text", "at"))


@covers("webhook.dead-letters", "webhook.headers.")
def test_webhook_that_refuses(rows: DataFrame, tmp_path: Path) -> None:
    """Refused records are dead letters, the others are taken; headers are those of each request."""
    with receiving() as receiver:
        receiver.answer = lambda number, records: (422, {}, "") if any(r["id"] % 100 == 0 for r in records) else OK
        options = {"url": receiver.url, "dead-letters": "refused", "headers.X-Team": "lake"}
        Written("webhook", tmp_path, options).write(rows.select("id"))
        assert {headers["X-Team"] for headers in receiver.headers} == {"lake"}
        lines = [line for file in (tmp_path / "refused").iterdir() for line in file.read_text().splitlines()]
        assert sorted(json.loads(line)["record"]["id"] for line in lines) == list(range(0, COUNT, 100))
        assert receiver.ids == [id for id in range(COUNT) if id % 100]


@covers(
    *("spark-files.path", "spark-files.format", "spark-files.compression", "spark-files.max-records-per-file"),
    *("spark-files.header", "spark-files.separator", "spark-files.null-value", "spark-files.ignore-null-fields"),
    *("spark-files.date-format", "spark-files.timestamp-format", "spark-files.timestamp-ntz-format"),
    "spark-files.spark.",
)
@pytest.mark.parametrize("format", FORMATS)
def test_spark_files(spark: SparkSession, input: Path, tmp_path: Path, format: str) -> None:
    """Each format of Spark's own sink, in the same form as that of the sink of its name."""
    nested = FORMATS[format].nested
    names = ["id"] if format == "text" else [name for name in SCHEMA.names if nested or name not in NESTED]
    variants: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {}), ({"max-records-per-file": 170}, {})]
    if format == "csv":
        others = {"header": False, "separator": ";", "null-value": "n/a", "compression": "gzip"}
        variants.append((others, {"header": False, "separator": ";", "null": "n/a"}))
        formats = {"date-format": "yyyy-MM-dd", "timestamp-format": "yyyy-MM-dd HH:mm:ss.SSSSSSXX"}
        variants.append(({**formats, "timestamp-ntz-format": "yyyy-MM-dd HH:mm:ss.SSSSSS"}, {}))
    if format == "json":
        variants.append(({"ignore-null-fields": False, "spark.lineSep": "\n", "compression": "gzip"}, {}))
    for number, (options, settings) in enumerate(variants):
        for partition_by in ((), ("part",)) if number == 0 and format != "text" else ((),):
            root = tmp_path / f"{number}{len(partition_by)}"
            root.mkdir()
            sink = Written("spark-files", root, {"path": "out", "format": format, **options}, partition_by)
            sink.stream(spark.newSession(), input, tuple(expressions(format, names)))
            same(sink_readers.READERS[format](root / "out", names, **settings), names, format)


@covers("function.function", "function.", "data-source.class", "data-source.")
@pytest.mark.parametrize(
    ("sink", "option", "name"), [("function", "function", "save"), ("data-source", "class", "FilesSource")]
)
def test_code_of_an_author(spark: SparkSession, input: Path, tmp_path: Path, sink: str, option: str, name: str) -> None:
    """The code gets all records, and the options that are its own."""
    options = {option: f"{authors_code.__name__}.{name}", "path": str(tmp_path / "out")}
    Written(sink, tmp_path, options).stream(spark.newSession(), input, ("id", "text"))
    written = [row for file in (tmp_path / "out").glob("*.json") for row in json.loads(file.read_text())]
    same(sink_readers.by_number(iter(written)), ("id", "text"))


@covers("terminal.rows", "terminal.title", "console.num-rows", "console.truncate")
@pytest.mark.parametrize(
    ("sink", "options", "title", "lengths"),
    [
        ("terminal", {"rows": 7}, "archive, batch 0, the first 7 rows", {40}),
        ("terminal", {"rows": 2000, "title": "All of them"}, "All of them", {40}),
        ("console", {"num-rows": 7, "truncate": True}, "archive, batch 0, the first 7 rows", {20}),
        ("console", {"num-rows": 7, "truncate": False}, "archive, batch 0, the first 7 rows", {40}),
    ],
)
def test_tables_on_the_terminal(
    rows: DataFrame, tmp_path: Path, sink: str, options: dict[str, Any], title: str, lengths: set[int]
) -> None:
    """The title, so many rows, and strings that are cut or not."""
    shown = Written(sink, tmp_path, options)
    shown.write(rows.selectExpr("id", "repeat('x', 40) AS word").orderBy("id"))
    head, *lines = shown.lines[0].splitlines()
    cells = [line.replace("│", " ").split() for line in lines if "x" in line]
    assert head == title
    limit = int(str(options.get("rows", options.get("num-rows"))))
    assert [int(cell[0]) for cell in cells] == list(range(min(COUNT, limit)))
    assert {len(cell[1]) for cell in cells} == lengths


@covers("memory.table", "memory.max-rows")
def test_memory(rows: DataFrame, tmp_path: Path) -> None:
    """The view has the last rows: whole batches, as many as fit."""
    sink = Written("memory", tmp_path, {"table": f"seen_{tmp_path.name}", "max-rows": 600})
    sink.write_all([rows.where(f"id DIV 250 = {batch}").select("id") for batch in range(4)])
    seen = rows.sparkSession.table(f"global_temp.seen_{tmp_path.name}").toArrow()["id"].to_pylist()
    assert sorted(seen) == list(range(500, 1000))


def test_every_option_is_covered() -> None:
    """A new option, or a new sink with options, needs a case the day it is added."""
    others = {name: sink.traits for name, sink in SINKS.items() if name not in FORMATS}
    options = {f"{name}.{option.name}" for name, traits in others.items() for option in traits.options}
    options |= {f"{name}.{prefix}" for name, traits in others.items() for prefix in traits.passes_on}
    assert set(CASES) | set(ELSEWHERE) == options
    assert all(Path(file).is_file() for file in ELSEWHERE.values())
