"""Files of a sink are named by query, batch and partition, complete, and visible once, with a failure at any point."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from streamlets.egress.files import writer as files
from streamlets.egress.files.compaction import Compaction
from streamlets.egress.files.record import FilesRecord
from streamlets.egress.files.writer import FilesWriter
from streamlets.part_files import write_part_files

pytestmark = pytest.mark.spark


class Bench:
    """A query from a directory of CSV files with numbers to a directory of Parquet files."""

    def __init__(self, session: SparkSession, root: Path) -> None:
        self.session = session
        self.root = root
        self.out = root / "out"
        self.checkpoint = root / "checkpoint"
        (root / "in").mkdir()

    def put(self, *numbers: int) -> None:
        """Add an input file, which becomes a batch."""
        number = len(list((self.root / "in").iterdir()))
        path = self.root / "in" / f"{number:04}.csv"
        path.write_text("\n".join(map(str, numbers)))
        os.utime(path, (1_800_000_000 + number,) * 2)  # Spark reads the oldest file first

    def run(
        self,
        shape: Callable[[DataFrame], DataFrame] = lambda rows: rows,
        checkpoint: str = "",
        mode: str = "append",
        **settings: Any,
    ) -> None:
        """Process the input, one file per batch."""
        reader = self.session.readStream.name("numbers").option("maxFilesPerTrigger", 1)
        rows = reader.csv(str(self.root / "in"), schema="n int").selectExpr("n", "n % 2 as odd")
        record = FilesRecord(self.out, "archive", settings.pop("owner", "mine"))
        write = FilesWriter(record=record, format=settings.pop("format", "parquet"), **settings)
        query = (
            shape(rows)
            .writeStream.foreachBatch(write)
            .outputMode(mode)
            .option("checkpointLocation", checkpoint or str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)

    def forget_commit(self) -> None:
        """Undo the last commit of Spark, as if the process had ended before it."""
        commits = self.checkpoint / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the visible files."""
        return sorted(p.relative_to(self.out).as_posix() for p in self.out.rglob("*.parquet") if not _hidden(p, self))

    def numbers(self) -> list[int]:
        """Return the numbers that readers see, the same in three libraries."""
        numbers = sorted(ds.dataset(self.out, partitioning="hive").to_table().column("n").to_pylist())
        assert sorted(pd.read_parquet(self.out)["n"]) == numbers
        assert sorted(row["n"] for row in self.session.read.parquet(str(self.out)).collect()) == numbers
        return numbers


def _hidden(path: Path, bench: Bench) -> bool:
    return any(part.startswith(("_", ".")) for part in path.relative_to(bench.out).parts)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    """Return a bench with a new session."""
    yield Bench(spark.newSession(), tmp_path)


def test_each_batch_becomes_complete_files(bench: Bench) -> None:
    """Names have query, batch and partition. Readers see only records, and no staging directory is left."""
    bench.put(1, 2, 3)
    bench.put(4, 5)
    bench.run()
    assert bench.numbers() == [1, 2, 3, 4, 5]
    first, second = bench.names()
    assert first.startswith("archive-")
    assert first.endswith("-000000-00000.snappy.parquet")
    assert second == first.replace("-000000-", "-000001-")
    assert not (bench.out / "_staging").exists()


def test_batches_without_records_leave_no_file(bench: Bench) -> None:
    """Only Spark records a batch whose rows are all filtered out."""
    bench.put(1)
    bench.put(2)
    bench.run(lambda rows: rows.where("n > 1"))
    assert len(bench.names()) == 1
    assert bench.numbers() == [2]


def test_columns_become_directories(bench: Bench) -> None:
    """`partition_by` partitions files as Spark does, and readers restore the column."""
    bench.put(1, 2, 3)
    bench.run(partition_by=("odd",))
    assert [name.partition("/")[0] for name in bench.names()] == ["odd=0", "odd=1"]
    assert bench.numbers() == [1, 2, 3]


def test_a_replayed_batch_replaces_itself(bench: Bench) -> None:
    """A batch that Spark runs again has the files of the first attempt, even if it would write other files now."""
    bench.put(*range(100))
    bench.run(lambda rows: rows.repartition(3))
    before = {name: (bench.out / name).read_bytes() for name in bench.names()}
    assert len(before) == 3
    bench.forget_commit()
    bench.run(lambda rows: rows.coalesce(1).selectExpr("n + 1000 as n", "odd"))
    assert {name: (bench.out / name).read_bytes() for name in bench.names()} == before


def test_a_replayed_batch_updates_the_state(bench: Bench) -> None:
    """Counts continue after a batch whose files had been decided, because the replay executes it, too."""

    def count(rows: DataFrame) -> DataFrame:
        return rows.groupBy("odd").count()

    bench.put(1, 2, 3)
    bench.put(4)
    bench.run(count, mode="update")
    bench.forget_commit()
    bench.put(5)
    bench.run(count, mode="update")
    counts = sorted((row["odd"], row["count"]) for row in ds.dataset(bench.out).to_table().to_pylist())
    assert counts == [(0, 1), (0, 2), (1, 2), (1, 3)]


@pytest.mark.parametrize("format", ["csv", "json", "orc", "text"])
def test_other_formats_report_the_rows_that_spark_has_executed(bench: Bench, format: str) -> None:
    """Their files do not have the number of their records, so that of a replay is that of its own rows."""
    reported: list[tuple[int, int, bool]] = []

    def written(batch: int, records: int, *, replayed: bool) -> None:
        reported.append((batch, records, replayed))

    bench.put(1, 2, 3)
    bench.put(4)
    bench.put(5, 6)
    bench.run(lambda rows: rows.where("n <> 4").selectExpr("cast(n as string) as n"), written=written, format=format)
    bench.forget_commit()
    bench.run(lambda rows: rows.selectExpr("cast(n as string) as n"), written=written, format=format)
    bench.put(7)
    bench.run(lambda rows: rows.where("false").selectExpr("cast(n as string) as n"), written=written, format=format)
    assert reported == [(0, 3, False), (1, 0, False), (2, 2, False), (2, 2, True), (3, 0, False)]


def test_row_counts_are_reported(bench: Bench) -> None:
    """Each batch reports the number of records in its files; a replay reports the same, and that it is a replay."""
    bench.put(1, 2, 3)
    bench.put(4)
    reported: list[tuple[int, int, bool]] = []

    def written(batch: int, records: int, *, replayed: bool) -> None:
        reported.append((batch, records, replayed))

    bench.run(written=written)
    bench.forget_commit()
    bench.run(lambda rows: rows.where("false"), written=written)
    assert reported == [(0, 3, False), (1, 1, False), (1, 1, True)]


class PowerCutError(Exception):
    """Simulates the end of the process."""


CUTS = [("after-data-files", 1), ("after-manifest", 1), ("during-rename", 1), ("during-rename", 2)]


@pytest.mark.parametrize(("point", "passage"), CUTS)
def test_a_power_cut_at_any_point(bench: Bench, point: str, passage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure at each point, a replay with other partitions leads to each record once."""
    passed = 0

    def cut(name: str) -> None:
        nonlocal passed
        passed += name == point
        if passed == passage and name == point:
            raise PowerCutError(point)

    bench.put(*range(50))
    monkeypatch.setattr(files, "crash_point", cut)
    with pytest.raises(StreamingQueryException, match=point):
        bench.run(lambda rows: rows.repartition(3), partition_by=("odd",))
    if bench.names():
        assert set(bench.numbers()) <= set(range(50))
    bench.put(50, 51)
    bench.run(lambda rows: rows.coalesce(1), partition_by=("odd",))
    assert bench.numbers() == list(range(52))
    assert not (bench.out / "_staging").exists()


def test_existing_files_of_an_earlier_checkpoint(bench: Bench) -> None:
    """`existing` decides whether files of an earlier checkpoint fail the query, are replaced or kept."""
    bench.put(1, 2)
    bench.run()
    (first,) = bench.names()
    (bench.out / ".notes").write_text("mine")
    with pytest.raises(StreamingQueryException, match=r"set `options\.existing` to `replace`"):
        bench.run(checkpoint=str(bench.root / "second"))
    assert bench.names() == [first]
    bench.run(checkpoint=str(bench.root / "third"), existing="append")
    assert bench.numbers() == [1, 1, 2, 2]
    bench.put(3)
    bench.run(checkpoint=str(bench.root / "fourth"), existing="replace")
    assert bench.numbers() == [1, 2, 3]
    assert first not in bench.names()
    assert (bench.out / ".notes").exists()


def test_other_files_are_never_deleted(bench: Bench) -> None:
    """`replace` deletes the files of this application, and reports the others. Files of another application fail it."""
    bench.put(1)
    bench.run(owner="production")
    (first,) = bench.names()
    with pytest.raises(
        StreamingQueryException, match=r"files of another application \(its state directory: `production`\)"
    ):
        bench.run(checkpoint=str(bench.root / "second"), existing="replace", owner="test")
    assert bench.names() == [first]
    (bench.out / "theirs.csv").write_text("mine")
    reported: list[str] = []
    bench.run(checkpoint=str(bench.root / "third"), existing="replace", owner="production", report=reported.append)
    assert first not in bench.names()
    assert (bench.out / "theirs.csv").exists()
    assert reported == [
        f"archive: deleted 1 file of an earlier checkpoint in `{bench.out}` and kept 1 file that it did not write"
    ]


def test_small_files_are_merged(bench: Bench) -> None:
    """A merged file replaces those of committed batches; readers see each record once."""
    for number in range(4):
        bench.put(number)
    compaction = Compaction(FilesRecord(bench.out, "archive", "mine"), "parquet", {}, 0)
    bench.run(compaction=compaction)
    assert bench.numbers() == [0, 1, 2, 3]
    assert [name.partition(".")[0].split("-", 2)[2] for name in bench.names()] == [
        "000000-00000-000001-merged", "000002-00000", "000003-00000"
    ]  # fmt: skip
    bench.run(checkpoint=str(bench.root / "second"), existing="replace")
    assert len(bench.names()) == 4
    assert bench.numbers() == [0, 1, 2, 3]


def test_an_error_of_the_file_system(bench: Bench) -> None:
    """A path that is not a directory fails the query with one sentence; the batch succeeds once it is fixed."""
    bench.put(1)
    bench.out.write_text("a file")
    with pytest.raises(
        StreamingQueryException, match=r"archive: .*Not a directory.*the next attempt completes the batch"
    ):
        bench.run()
    bench.out.unlink()
    bench.run()
    assert bench.numbers() == [1]


def test_other_formats(bench: Bench) -> None:
    """Files of other formats are written in the same way."""
    bench.put(1, 2)
    bench.run(format="csv", options={"header": "true"})
    (path,) = bench.out.glob("*.csv")
    assert path.read_text() == "n,odd\n1,1\n2,0\n"


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv", "text"])
@pytest.mark.parametrize("partition_by", [(), ("odd",)])
def test_a_limit_of_records_per_file(bench: Bench, format: str, partition_by: tuple[str, ...]) -> None:
    """Each of the files of a task is published, and a replay with another limit changes nothing."""
    bench.put(*range(50))
    shape = "cast(n as string) AS n", "n % 2 as odd"
    kept = shape if partition_by else shape[:1]
    settings: dict[str, Any] = {"format": format, "partition_by": partition_by}
    header = {"header": "true"}
    bench.run(lambda rows: rows.selectExpr(*kept), options={"maxRecordsPerFile": "7", **header}, **settings)
    written = {path: path.read_bytes() for path in bench.out.rglob("archive-*")}
    assert len(written) == 8  # of 50 records, or twice 25
    assert sorted(_numbers(bench, format)) == list(range(50))
    bench.forget_commit()
    bench.session.conf.set("spark.sql.files.maxRecordsPerFile", "5")
    bench.run(lambda rows: rows.selectExpr(*kept), options=header, **settings)
    assert {path: path.read_bytes() for path in bench.out.rglob("archive-*")} == written


def _numbers(bench: Bench, format: str) -> list[int]:
    if format == "text":
        return [int(line) for path in bench.out.rglob("archive-*") for line in path.read_text().splitlines()]
    files = [str(path) for path in bench.out.rglob("archive-*")]
    return [int(number) for number in ds.dataset(files, format=format).to_table().column("n").to_pylist()]


def test_a_file_of_another_origin_is_never_replaced(bench: Bench) -> None:
    """A batch whose file would replace another one fails, and is complete once that was moved elsewhere."""
    bench.put(1, 2)
    bench.run()
    (name,) = bench.names()
    content = (bench.out / name).read_bytes()
    bench.put(3)
    second = bench.out / name.replace("-000000-", "-000001-")
    second.write_bytes(content)
    with pytest.raises(StreamingQueryException, match=r"another file has the path `.*-000001-00000\.snappy\.parquet`"):
        bench.run()
    assert second.read_bytes() == content
    second.unlink()
    bench.run()
    assert bench.numbers() == [1, 2, 3]


def test_a_batch_whose_files_lack_records_is_not_published(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of records in the files is compared with what Spark has executed."""
    bench.put(*range(20))
    write = write_part_files
    monkeypatch.setattr(files, "write_part_files", lambda *args, **settings: write(*args, **settings)[1:])
    with pytest.raises(StreamingQueryException, match="Spark executed 20 records of the batch, and its files have"):
        bench.run(lambda rows: rows.repartition(3))
    assert bench.names() == []
    monkeypatch.undo()
    bench.run(lambda rows: rows.repartition(3))
    assert bench.numbers() == list(range(20))


@pytest.mark.parametrize(
    ("format", "options"),
    [(f, o) for f in ("json", "csv") for o in ({}, {"compression": "gzip"}, {"compression": "deflate"})]
    + [("orc", {}), ("text", {"compression": "bzip2"}), ("csv", {"header": "true"})],
)
def test_files_without_records_are_not_published(bench: Bench, format: str, options: dict[str, str]) -> None:
    """A task without records may write a file with a header, or an empty one that is compressed."""
    bench.put(1)
    bench.put(2)
    shape = lambda rows: rows.selectExpr("cast(n AS string) AS n").where("n > 1").repartition(3)  # noqa: E731
    bench.run(shape, format=format, options=options)
    assert [path.name.split("-")[2] for path in bench.out.glob("archive-*")] == ["000001"]
