"""The sink `delta`: each batch changes the table once, with a failure at any point."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from blueprint.settings.sinks import sink_problems
from streamlets import Sink
from streamlets.egress import SINKS, SinkQuery, delta, staging
from streamlets.egress.delta import DeltaBatches, DeltaSink
from streamlets.egress.errors import ExistingFilesError, KeysError, SinkError, TableMismatchError
from streamlets.storage.crash import VARIABLE
from streamlets.testkit import Testkit
from tests.streamlets.egress.applications import numbers_application


def batches(table: Path, **settings: Any) -> DeltaBatches:
    """Return the writer of a query."""
    names = ("partition_by", "output_mode", "application", "on_batch")
    query: dict[str, Any] = {"application": str(table.parent / "state")}
    query |= {name: settings.pop(name) for name in names if name in settings}
    options = {"path": table, "existing": "fail"} | {name.replace("_", "-"): text for name, text in settings.items()}
    return DeltaBatches(SinkQuery(name="archive", streamlet="archive", query="sink", options=options, **query))


def records(*rows: tuple[Any, ...], names: Iterable[str] = ("id", "Seq", "value")) -> ds.Dataset:
    """Return records."""
    return ds.dataset(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]))


def rows_of(table: Path) -> list[tuple[Any, ...]]:
    """Return the rows of a table, sorted."""
    return sorted((tuple(row.values()) for row in DeltaTable(table).to_pyarrow_table().to_pylist()), key=repr)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return the directory of a table."""
    return tmp_path / "table"


def test_a_batch_is_committed_once(table: Path) -> None:
    """A batch that the table has is not written again; batches of another query are its own."""
    writer = batches(table)
    for batch, id in ((0, "a"), (0, "a"), (1, "a"), (0, "a"), (0, "b")):
        writer.commit(records((batch, 1, id)), id, batch)
    assert rows_of(table) == [(0, 1, "a"), (0, 1, "b"), (1, 1, "a")]
    assert [writer.may_have_written("a", batch) for batch in (0, 1, 2)] == [True, True, False]
    assert not batches(table / "other").may_have_written("a", 0)


@pytest.mark.parametrize("keys", ["", "id"])
def test_two_processes_cannot_commit_a_batch(table: Path, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another process commits the batch after this one has read the table, the commit fails."""
    settings = {"keys": keys} if keys else {}
    batches(table, **settings).commit(records((0, 1, "first")), "a", 0)
    late = batches(table, **settings)
    before = DeltaTable(table)
    monkeypatch.setattr(DeltaBatches, "_table", lambda _: before)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaBatches, "_table", lambda _: DeltaTable(table))
        batches(table, **settings).commit(records((1, 1, "second")), "a", 1)
    with pytest.raises(CommitFailedError):
        late.commit(records((1, 1, "second")), "a", 1)
    assert rows_of(table) == [(0, 1, "first"), (1, 1, "second")]


def test_records_replace_the_rows_of_their_keys(table: Path) -> None:
    """A record with a smaller value of `sequence-by` is ignored; null keys are equal."""
    writer = batches(table, keys="id", sequence_by="Seq")
    writer.commit(records((1, 5, "a"), (2, 5, "b"), (None, 5, "c")), "q", 0)
    writer.commit(records((1, 4, "late"), (2, 5, "same"), (None, 6, "newer"), (3, 1, "d")), "q", 1)
    assert rows_of(table) == [(1, 5, "a"), (2, 5, "same"), (3, 1, "d"), (None, 6, "newer")]


def test_repeated_keys_without_an_order_are_rejected(table: Path) -> None:
    """Nothing is written, because it is not known which of the records is the last."""
    writer = batches(table, keys="id, value")
    writer.commit(records((1, 1, "a"), (1, 1, "b")), "q", 0)
    with pytest.raises(KeysError, match=r"2 records of the batch have the keys of another one"):
        writer.commit(records((1, 2, "a"), (1, 3, "a"), (1, 4, "a"), (2, 1, "a")), "q", 1)
    assert rows_of(table) == [(1, 1, "a"), (1, 1, "b")]


def test_equal_records_are_one(table: Path) -> None:
    """A topic that is written at least once may have a record twice. NaN and null are equal to themselves."""
    writer = batches(table, keys="id")
    nan, once = float("nan"), (2, None, {"a": [1]})
    writer.commit(records((1, nan, {"a": None}), once, (1, float("nan"), {"a": None}), once, (None, 1.0, None)), "q", 0)
    assert len(rows_of(table)) == 3
    with pytest.raises(KeysError, match="1 record of the batch has the keys of another one, and other values"):
        writer.commit(records(once, once, (2, 1.0, {"a": [1]})), "q", 1)


@pytest.mark.parametrize("keys", ["", "id"])
@pytest.mark.parametrize(
    ("names", "row", "problem"),
    [
        (("id", "Seq", "value", "more"), (1, 2, "a", 3), "has no column `more`"),
        (("id", "Seq"), (1, 2), "has the column `value`, and the records do not"),
        (("id", "Seq", "value"), ("1", 2, "a"), 'has another type for `id`: "long", and the records have "string"'),
    ],
)
def test_other_columns_are_rejected(
    table: Path, keys: str, names: tuple[str, ...], row: tuple[Any, ...], problem: str
) -> None:
    """`deltalake` converts types, and ignores columns in a merge; neither happens."""
    settings = {"keys": keys} if keys else {}
    batches(table, **settings).commit(records((1, 1, "a")), "q", 0)
    with pytest.raises(TableMismatchError, match=problem):
        batches(table, **settings).commit(records(row, names=names), "q", 1)
    assert rows_of(table) == [(1, 1, "a")]


def test_other_partitions_are_rejected(table: Path) -> None:
    """The partitions of a table do not change."""
    batches(table, partition_by=("id",)).commit(records((1, 1, "a")), "q", 0)
    assert DeltaTable(table).metadata().partition_columns == ["id"]
    with pytest.raises(TableMismatchError, match=r"is partitioned by \['id'\], and the sink by \['value'\]"):
        batches(table, partition_by=("value",)).commit(records((1, 1, "a")), "q", 1)


def test_a_column_may_become_nullable(table: Path) -> None:
    """The table is created with nullable columns."""
    required = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    batches(table).commit(ds.dataset(pa.table({"id": [1]}, schema=required)), "q", 0)
    batches(table).commit(ds.dataset(pa.table({"id": pa.array([None], pa.int64())})), "q", 1)
    assert rows_of(table) == [(1,), (None,)]


def test_tables_of_others_are_extended(table: Path) -> None:
    """A table that exists is written if it has the columns of the records."""
    write_deltalake(table, pa.table({"id": [0], "Seq": [0], "value": ["theirs"]}))
    writer = batches(table)
    writer._claim("q")
    writer.commit(records((1, 1, "ours")), "q", 0)
    assert rows_of(table) == [(0, 0, "theirs"), (1, 1, "ours")]


def test_a_directory_with_other_files_is_rejected(table: Path) -> None:
    """A directory of other data does not become a table."""
    table.mkdir()
    (table / "part-0.parquet").touch()
    with pytest.raises(SinkError, match="has files, but is not a Delta table; set another `path`"):
        batches(table)._claim("q")


def test_an_earlier_checkpoint_is_not_appended_again(table: Path) -> None:
    """`existing = append` permits it. A query with keys, or with complete results, replaces the rows."""
    batches(table).commit(records((1, 1, "a")), "first", 0)
    with pytest.raises(ExistingFilesError, match=r"with an earlier checkpoint, .* set `options.existing` to `append`"):
        batches(table)._claim("second")
    batches(table)._claim("first")
    batches(table, existing="append")._claim("third")
    batches(table, keys="id")._claim("fourth")
    batches(table, output_mode="complete")._claim("fifth")


def test_queries_that_may_append_do_not_hinder_each_other(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the sink is only in the first commit of each: later ones do not conflict."""
    queries = {id: batches(table, existing="append") for id in ("a", "b")}
    for id, writer in queries.items():
        writer._claim(id)
        writer.commit(records((0, 1, id)), id, 0)
    before = DeltaTable(table)
    queries["a"].commit(records((1, 1, "a")), "a", 1)
    monkeypatch.setattr(DeltaBatches, "_table", lambda _: before)
    queries["b"].commit(records((1, 1, "b")), "b", 1)
    assert rows_of(table) == [(0, 1, "a"), (0, 1, "b"), (1, 1, "a"), (1, 1, "b")]


@pytest.mark.parametrize(
    ("options", "mode", "problem"),
    [
        ({}, "update", "requires the option `keys` in output mode `update`"),
        ({"keys": "id"}, "complete", "`keys` of the sink `delta` cannot be set in output mode `complete`"),
        ({"sequence-by": "id"}, "append", "`sequence-by` of the sink `delta` requires the option `keys`"),
    ],
)
def test_options_depend_on_the_output_mode(options: dict[str, str], mode: Any, problem: str) -> None:
    """Updates need keys, complete results cannot have them."""
    traits = SINKS["delta"].traits
    (reported,) = sink_problems(traits, {"path": "x", **options}, output_mode=mode)
    assert problem in reported.message


@pytest.mark.parametrize("library", ["deltalake", "duckdb", "polars"])
def test_other_libraries_read_the_table(table: Path, library: str) -> None:
    """They see the current version: replaced rows once, and partition columns with their types."""
    writer = batches(table, keys="id", sequence_by="Seq", partition_by=("value",))
    writer.commit(records((1, 1, "a"), (2, 1, "b"), (3, 1, None)), "q", 0)
    writer.commit(records((2, 2, "b"), (4, 1, "c")), "q", 1)
    if library == "deltalake":
        read = DeltaTable(table).to_pyarrow_table()
    elif library == "polars":
        read = pytest.importorskip("polars").read_delta(str(table)).to_arrow()
    else:
        import duckdb

        written = DeltaTable(table).to_pyarrow_dataset()  # DuckDB's own extension would be downloaded
        read = duckdb.from_arrow(written).query("written", "SELECT * FROM written").to_arrow_table()
    rows = sorted((row["id"], row["Seq"], row["value"]) for row in read.to_pylist())
    assert rows == [(1, 1, "a"), (2, 2, "b"), (3, 1, None), (4, 1, "c")]


class Bench:
    """A query from a directory of CSV files to a Delta table."""

    def __init__(self, session: SparkSession, root: Path) -> None:
        self.session = session
        self.root = root
        self.table = root / "table"
        (root / "in").mkdir()

    def put(self, *numbers: int) -> None:
        """Add an input file, which becomes a batch."""
        path = self.root / "in" / f"{len(list((self.root / 'in').iterdir())):04}.csv"
        path.write_text("\n".join(map(str, numbers)))

    def run(
        self, shape: Callable[[DataFrame], DataFrame] = lambda rows: rows, mode: Any = "append", **settings: Any
    ) -> None:
        """Process the input, one file per batch."""
        reader = self.session.readStream.name("numbers").option("maxFilesPerTrigger", 1)
        rows = reader.csv(str(self.root / "in"), schema="n int").selectExpr("n", "n % 2 as odd")
        writer = batches(self.table, output_mode=mode, **settings)
        query = (
            shape(rows)
            .writeStream.foreachBatch(writer)
            .outputMode(mode)
            .option("checkpointLocation", str(self.root / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    """Return a bench with a new session."""
    return Bench(spark.newSession(), tmp_path)


class PowerCutError(Exception):
    """Simulates the end of the process."""


@pytest.mark.spark
@pytest.mark.parametrize("point", ["after-data-files", "after-topic-commit"])
def test_a_power_cut_at_any_point(bench: Bench, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure at each point, a replay with other partitions and other values leads to each record once."""

    def cut(name: str) -> None:
        if name == point:
            raise PowerCutError(point)

    bench.put(*range(50))
    with monkeypatch.context() as patch:
        patch.setattr(delta, "crash_point", cut)
        patch.setattr(staging, "crash_point", cut)
        with pytest.raises(StreamingQueryException, match=point):
            bench.run(lambda rows: rows.repartition(3), partition_by=("odd",))
    committed = point != "after-data-files"
    assert DeltaTable.is_deltatable(str(bench.table)) == committed
    bench.put(50, 51)
    bench.run(lambda rows: rows.coalesce(1), partition_by=("odd",))
    assert sorted(row[0] for row in rows_of(bench.table)) == list(range(52))
    assert not list(bench.table.rglob("staged"))
    assert bench.session.read.parquet(*DeltaTable(bench.table).file_uris()).count() == 52


@pytest.mark.spark
def test_counts_by_key_are_updated_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """In update mode the table has the last count of each key, also after a failure between the two commits."""

    def count(rows: DataFrame) -> DataFrame:
        return rows.groupBy("odd").count()

    def cut(name: str) -> None:
        if name == "before-spark-commit":
            raise PowerCutError(name)

    bench.put(1, 2, 3)
    bench.run(count, "update", keys="odd")
    bench.put(5)
    with monkeypatch.context() as patch:
        patch.setattr(delta, "crash_point", cut)
        with pytest.raises(StreamingQueryException):
            bench.run(count, "update", keys="odd")
    assert rows_of(bench.table) == [(0, 1), (1, 3)]
    bench.put(7)
    bench.run(count, "update", keys="odd")
    assert rows_of(bench.table) == [(0, 1), (1, 4)]


@pytest.mark.spark
def test_complete_results_replace_the_table(bench: Bench) -> None:
    """In complete mode the table has the last result, and earlier ones are earlier versions."""
    bench.put(1, 2, 3)
    bench.put(5)
    bench.run(lambda rows: rows.groupBy("odd").count(), "complete")
    assert rows_of(bench.table) == [(0, 1), (1, 3)]


@pytest.mark.spark
def test_the_last_record_of_a_key_in_a_batch_is_written(bench: Bench) -> None:
    """`sequence-by` orders the records of a batch."""
    bench.put(1, 9, 3, 4)
    bench.run(keys="odd", sequence_by="n")
    assert rows_of(bench.table) == [(4, 0), (9, 1)]


@pytest.mark.spark
def test_a_test_reads_the_table_in_the_kit(spark: SparkSession, tmp_path: Path) -> None:
    """The testkit moves the table, and reads its current version."""
    kit = Testkit(spark, tmp_path / "kit")
    options = {"path": str(tmp_path / "real"), "keys": "id"}
    parameters = {"to": "delta", "partition-by": "src", "options": options}
    sink = kit.streamlet(Sink, ref="archive", parameters=parameters, schemas={"in": "id long, src string, n long"})
    for n in range(2):
        sink.inlet("in").put([{"id": 1, "src": "a", "n": n}, {"id": 2 + n, "src": "b", "n": n}])
        sink.step()
    rows = sorted((row["id"], row["src"], row["n"]) for row in sink.sink().all())
    assert rows == [(1, "a", 1), (2, "b", 0), (3, "b", 1)]
    assert not (tmp_path / "real").exists()


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.parametrize("keys", ["", "keys = id"])
@pytest.mark.parametrize("point", ["after-data-files:2", "after-topic-commit:2", "before-spark-commit:2"])
def test_a_killed_run_continues(tmp_path: Path, point: str, keys: str) -> None:
    """After a kill at each point (the topic of the sink passes it first), the next run writes each record once."""
    directory = numbers_application(tmp_path, "delta", f"path = table, {keys}".rstrip(", "))
    (directory / "in" / "second.csv").write_text("4\n5\n")
    command = [str(Path(sys.executable).parent / "flow"), "run", str(directory), "--available-now"]
    killed = subprocess.run(command, env=os.environ | {VARIABLE: point}, capture_output=True, check=False, timeout=900)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert rows_of(directory / "table") == [(1,), (2,), (3,), (4,), (5,)]


@pytest.mark.parametrize("part", [*"[]^|\\", "%20"])
def test_paths_that_cannot_be_written_are_refused(part: str) -> None:
    """The library would panic, or write to another directory."""
    (problem,) = DeltaSink().option_problems({"path": f"/data/a{part}b"})
    assert f"cannot contain `{part}`" in problem.message
    assert not list(DeltaSink().option_problems({"path": "/data/a b#?{}*é' 100%"}))
