"""A batch that is written again, as after a kill: each sink that promises it has each record once.

The second attempt has another number of tasks, other limits of files and other settings, as after an upgrade.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamlets.egress import SINKS
from streamlets.egress.files.type import FORMATS
from tests.crossings import sink_readers
from tests.crossings.sink_rows import COUNT
from tests.crossings.sink_writes import Written
from tests.streamlets.egress.receiver import Receiver, receiving

AGAIN: tuple[tuple[int, dict[str, str], dict[str, Any]], ...] = (
    (2, {}, {}),
    (1, {}, {}),
    (5, {}, {}),
    (2, {"spark.sql.files.maxRecordsPerFile": "70"}, {}),
    (3, {"mapreduce.fileoutputcommitter.algorithm.version": "2"}, {"max-records-per-file": 90}),
    (1, {"mapreduce.output.basename": "_x"}, {"compression": "none"}),
)
"""The tasks, the settings and the options of the attempts, of which all but the first write other files."""

TARGETS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    **dict.fromkeys(FORMATS, lambda root: {"path": "out"}),
    "delta": lambda root: {"path": "out"},
    "iceberg": lambda root: {
        "table": "lake.records",
        "catalog.uri": f"sqlite:///{root}/catalog.db",
        "catalog.warehouse": f"file://{root}/warehouse",
    },
    "jdbc": lambda root: {"url": "sqlite:new/records.db", "table": "records"},
}
"""The options of each sink that promises each record once."""


def ids(sink: str, root: Path) -> list[int]:
    """Return the numbers of the records in the output of a sink, as other tools read them."""
    out = root / "out"
    match sink:
        case "delta":
            from deltalake import DeltaTable

            return DeltaTable(out).to_pyarrow_table()["id"].to_pylist()  # type: ignore[no-any-return]
        case "iceberg":
            from pyiceberg.catalog import load_catalog

            catalog = load_catalog("default", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/warehouse")
            return catalog.load_table("lake.records").scan().to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]
        case "jdbc":
            return [row[0] for row in sqlite3.connect(root / "new" / "records.db").execute("SELECT id FROM records")]
        case "parquet" | "csv" | "json":
            files = [str(path) for path in sink_readers.data_files(out)]
            read = {"parquet": duckdb.read_parquet, "csv": duckdb.read_csv, "json": duckdb.read_json}[sink]
            return [int(row[0]) for row in read(files).select("id").fetchall()]
        case "orc":
            return list(sink_readers.read_orc(out, ("id",)))
        case _:
            return [int(line) for path in sink_readers.data_files(out) for line in path.read_text().split()]


def rows(spark: SparkSession, tasks: int, settings: Mapping[str, str], batch: int, sink: str) -> DataFrame:
    """Return the records of a batch."""
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    id = "cast(id AS string) AS id" if sink == "text" else "id"
    all = session.range(batch * COUNT, (batch + 1) * COUNT, 1, tasks)
    return all.selectExpr(id, "concat('part ', id % 3) AS part") if sink != "text" else all.selectExpr(id)


@pytest.mark.spark
@pytest.mark.parametrize("sink", [name for name, sink in SINKS.items() if sink.traits.guarantee == "exactly-once"])
def test_a_batch_is_there_once(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    """All attempts of the second of three batches, with and without partitions."""
    traits = SINKS[sink].traits
    names = {option.name for option in traits.options}
    for partition_by in ((), ("part",)) if traits.partitioning and sink != "text" else ((),):
        (root := tmp_path / f"p{len(partition_by)}").mkdir()
        written = Written(sink, root, TARGETS[sink](root), partition_by)
        written.write(rows(spark, 2, {}, 0, sink), 0)
        for tasks, settings, options in AGAIN:
            known = {name: value for name, value in options.items() if name in names}
            attempt = Written(sink, root, {**written.options, **known}, partition_by, id=written.id)
            attempt.write(rows(spark, tasks, settings, 1, sink), 1)
        written.write(rows(spark, 2, {}, 2, sink), 2)
        assert Counter(ids(sink, root)) == dict.fromkeys(range(3 * COUNT), 1)


@pytest.mark.spark
def test_requests_of_a_batch_are_recognized(spark: SparkSession, tmp_path: Path) -> None:
    """The sink `webhook` sends what the first attempt decided; a server that knows its keys takes each record once."""
    with receiving() as receiver:
        written = Written("webhook", tmp_path, {"url": receiver.url, "max-records": 300})
        for tasks, settings, _ in AGAIN:
            written.write(rows(spark, tasks, settings, 0, "webhook"), 0)
            assert _taken(receiver) == list(range(COUNT))


def _taken(receiver: Receiver) -> list[int]:
    return sorted(record["id"] for records in receiver.taken.values() for record in records)


def test_every_sink_with_the_promise_is_tested() -> None:
    """A new sink that promises each record once needs a target here."""
    assert set(TARGETS) == {name for name, sink in SINKS.items() if sink.traits.guarantee == "exactly-once"}
