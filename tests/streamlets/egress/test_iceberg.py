"""The sink `iceberg`: each batch is appended once, with a failure at any point."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from streamlets import Sink
from streamlets.egress import SinkQuery, iceberg, staging
from streamlets.egress.errors import ExistingFilesError, SinkError, TableMismatchError
from streamlets.egress.iceberg import IcebergBatches

if not os.environ.get("CI"):
    pytest.importorskip("pyiceberg")


class Table:
    """A table in a catalog of SQLite.

    Arguments:
        root: the directory of both.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def batches(self, **settings: Any) -> IcebergBatches:
        """Return the writer of a query."""
        options = {
            "table": "lake.numbers",
            "catalog.name": "default",
            "catalog.uri": f"sqlite:///{self.root}/catalog.db",
            "catalog.warehouse": f"file://{self.root}/warehouse",
            "existing": settings.pop("existing", "fail"),
        }
        given = {"application": str(self.root / "state"), **settings}
        return IcebergBatches(SinkQuery(name="archive", streamlet="archive", query="sink", options=options, **given))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, sorted."""
        return self.sorted(self.batches()._table().scan().to_arrow())

    @property
    def stored(self) -> list[tuple[Any, ...]]:
        """The rows in the files, which pyiceberg does not change while it reads them."""
        files = [task.file.file_path.removeprefix("file://") for task in self.batches()._table().scan().plan_files()]
        return self.sorted(ds.dataset(files).to_table())

    @staticmethod
    def sorted(rows: pa.Table) -> list[tuple[Any, ...]]:
        """Return rows as tuples, sorted."""
        return sorted((tuple(row.values()) for row in rows.to_pylist()), key=repr)


def records(*rows: tuple[Any, ...], names: Iterable[str] = ("id", "text")) -> ds.Dataset:
    """Return records."""
    return ds.dataset(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return a table that does not exist."""
    return Table(tmp_path)


def test_a_batch_is_appended_once(table: Table) -> None:
    """A batch that the table has is not appended again; batches of another query are its own."""
    assert not table.batches().may_have_written("a", 0)
    for batch, id in ((0, "a"), (0, "a"), (1, "a"), (0, "a"), (0, "b")):
        table.batches(existing="append").commit(records((batch, id)), id, batch)
    assert table.rows == [(0, "a"), (0, "b"), (1, "a")]
    assert [table.batches().may_have_written("a", batch) for batch in (0, 1, 2)] == [True, True, False]
    summary = table.batches()._table().current_snapshot().summary
    assert (summary["streamlets.query"], summary["streamlets.batch"]) == ("b", "0")


NESTED = pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))])
TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "tiny": (pa.int8(), 1),
    "small": (pa.int16(), 1),
    "number": (pa.int32(), 1),
    "flag": (pa.bool_(), True),
    "ratio": (pa.float32(), 0.5),
    "amount": (pa.decimal128(20, 6), Decimal("1.000001")),
    "raw": (pa.binary(), b"\x00"),
    "day": (pa.date32(), datetime.date(1, 1, 1)),
    "at": (pa.timestamp("us", "UTC"), datetime.datetime(2024, 1, 1, 0, 0, 0, 1, datetime.UTC)),
    "local": (pa.timestamp("us"), datetime.datetime(2024, 1, 1, 0, 0, 0, 1)),
    "place": (NESTED, {"x": 1.0, "tags": ["a", None]}),
    "names": (pa.list_(pa.string()), ["a", None]),
    "places": (pa.list_(NESTED), [{"x": 1.0, "tags": None}]),
    "counts": (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    "maps": (pa.list_(pa.map_(pa.string(), NESTED)), [[("a", {"x": 1.0, "tags": []})]]),
    "of-maps": (pa.map_(pa.int32(), pa.struct([("m", pa.map_(pa.string(), pa.int64()))])), [(1, {"m": [("a", 1)]})]),
}
"""A type of Arrow, and a value, by the name of a column."""

EMPTY = {"places", "of-maps"}
"""Columns of records in arrays and maps, of which pyiceberg stores null as an empty one (docs/sinks.md)."""


@pytest.mark.parametrize("name", TYPES)
def test_a_column_of_each_type(table: Table, name: str) -> None:
    """The sink accepts the table that it has created."""
    type, value = TYPES[name]
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), (name, type)])
    for batch, values in enumerate(([value], [None, value])):
        rows = pa.Table.from_pylist([{"id": batch, name: value} for value in values], columns)
        table.batches().commit(ds.dataset(rows), "a", batch)
    null: Any = [] if name in EMPTY else None
    assert table.stored == sorted([(0, value), (1, value), (1, null)], key=repr)
    assert [row for row in table.rows if row[0] == 0] == [(0, value)]


def test_two_processes_cannot_append_a_batch(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second commit is refused by the catalog; then the table has the batch."""
    table.batches().commit(records((0, "a")), "a", 0)
    late, fast = table.batches(), table.batches()
    append = IcebergBatches._append

    def overtaken(self: IcebergBatches, *arguments: Any) -> None:
        if self is late:
            fast.commit(records((1, "a")), "a", 1)
        append(self, *arguments)

    monkeypatch.setattr(IcebergBatches, "_append", overtaken)
    late.commit(records((1, "a")), "a", 1)
    assert table.rows == [(0, "a"), (1, "a")]
    assert "commit.retry.num-retries" not in table.batches()._table().properties


def test_other_writers_are_not_waited_for_forever(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some attempts the batch fails, and the next run of the query starts again."""
    table.batches().commit(records((0, "a")), "a", 0)
    append = IcebergBatches._append

    def overtaken(self: IcebergBatches, target: Any, *arguments: Any) -> None:
        table.batches()._table().append(pa.table({"id": [9], "text": ["other"]}))
        append(self, target, *arguments)

    monkeypatch.setattr(IcebergBatches, "_append", overtaken)
    with pytest.raises(SinkError, match=r"other writers changed the table `lake.numbers` during 5 attempts"):
        table.batches().commit(records((1, "a")), "a", 1)
    assert (1, "a") not in table.rows


def test_an_earlier_checkpoint_is_not_appended_again(table: Table) -> None:
    """`existing = append` permits it."""
    table.batches(application="/mine").commit(records((0, "a")), "a", 0)
    with pytest.raises(ExistingFilesError, match=r"with an earlier checkpoint, so .* `options.existing` to `append`"):
        table.batches(application="/mine").commit(records((0, "a")), "b", 0)
    with pytest.raises(ExistingFilesError, match=r"in another application \(its state directory: `/mine`\)"):
        table.batches().commit(records((0, "a")), "b", 0)
    table.batches(existing="append").commit(records((0, "b")), "b", 0)
    assert table.rows == [(0, "a"), (0, "b")]


@pytest.mark.parametrize(
    ("names", "row", "problem"),
    [
        (("id",), (1,), "has the column `text`, and the records do not"),
        (("id", "text", "more"), (1, "a", 2), "has no column `more`"),
        (("id", "text"), (1, 2), "has another type for `text`: string, and the records have int64"),
    ],
)
def test_another_table_is_refused(table: Table, names: tuple[str, ...], row: tuple[Any, ...], problem: str) -> None:
    """Its columns and partitions must be those of the records."""
    table.batches().commit(records((0, "a")), "a", 0)
    with pytest.raises(TableMismatchError, match=problem):
        table.batches().commit(records(row, names=names), "a", 1)
    with pytest.raises(TableMismatchError, match="is partitioned by"):
        table.batches(partition_by=("text",)).commit(records((1, "a")), "a", 1)


def test_partitions_and_nested_columns(table: Table) -> None:
    """A partitioned table has the partition in its files; nested values come back as they were."""
    writer = table.batches(partition_by=("text",))
    writer.commit(records((1, "x", {"n": [1, None]}), (2, "y", None), names=("id", "text", "more")), "a", 0)
    writer.commit(records((3, "x", {"n": [2]}), names=("id", "text", "more")), "a", 1)
    assert table.rows == [(1, "x", {"n": [1, None]}), (2, "y", None), (3, "x", {"n": [2]})]
    assert len(writer._table().inspect.partitions()) == 2


@pytest.mark.parametrize("name", ["numbers", "lake.", ".numbers"])
def test_the_name_of_a_table_is_checked(name: str) -> None:
    """Before the catalog is asked."""
    options = {"table": name, "catalog": {"uri": "sqlite://"}}
    (problem,) = Sink().check_parameters({"to": "iceberg", "partition-by": "", "options": options})
    assert problem.message == f"`table` must have a namespace and a name, found `{name}`"


class PowerCutError(Exception):
    """Simulates the end of the process."""


@pytest.mark.spark
@pytest.mark.parametrize("point", ["after-data-files", "after-topic-commit"])
def test_a_power_cut_at_any_point(
    spark: SparkSession, table: Table, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failure at each point, a replay leads to each record once."""

    def cut(name: str, *owner: str) -> None:
        if name == point:
            raise PowerCutError(name)

    session, root = spark.newSession(), table.root
    (root / "in").mkdir()
    (root / "in" / "first.csv").write_text("1\n2\n3\n")

    def run() -> None:
        rows = session.readStream.name("n").csv(str(root / "in"), schema="id int").selectExpr("id", "current_date() d")
        writer = rows.writeStream.foreachBatch(table.batches()).option("checkpointLocation", str(root / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination(120)

    with monkeypatch.context() as patch:
        patch.setattr(iceberg, "crash_point", cut)
        patch.setattr(staging, "crash_point", cut)
        with pytest.raises(StreamingQueryException, match=point):
            run()
    run()
    (root / "in" / "second.csv").write_text("4\n")
    run()
    assert [row[0] for row in table.rows] == [1, 2, 3, 4]
