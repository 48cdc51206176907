"""Files that Spark writes: whatever the user's settings are, all files with records are returned, and no others."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from streamlets import part_files
from streamlets.part_files import MissingFilesError, write_part_files

pytestmark = pytest.mark.spark

MANIFEST = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter"
COMMIT = "spark.sql.sources.commitProtocolClass"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.files.maxRecordsPerFile", "7"),
        ("mapreduce.output.basename", "_hidden"),
        ("mapreduce.output.basename", "rows"),
        ("mapreduce.fileoutputcommitter.algorithm.version", "2"),
        ("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true"),
        ("parquet.summary.metadata.level", "ALL"),
        ("spark.sql.sources.outputCommitterClass", MANIFEST),
        ("spark.sql.parquet.output.committer.class", MANIFEST),
        ("mapreduce.outputcommitter.factory.class", f"{MANIFEST}Factory"),
        (COMMIT, "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"),
        (COMMIT, "org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol"),
        ("spark.sql.sources.partitionOverwriteMode", "dynamic"),
        ("spark.sql.maxConcurrentOutputFileWriters", "5"),
    ],
)
def test_settings_of_the_user(spark: SparkSession, tmp_path: Path, setting: str, value: str) -> None:
    """They may change the number of files, but not which of them have the records."""
    session = spark.newSession()
    session.conf.set(setting, value)
    rows = session.range(100).selectExpr("id", "concat('_', id % 3) AS part").repartition(2)
    for name, partition_by in (("one", ()), ("parts", ("part",))):
        files = write_part_files(rows, tmp_path / name, partition_by=partition_by)
        ids = [id for file in files for id in pq.ParquetFile(file).read(["id"]).column("id").to_pylist()]
        assert sorted(ids) == list(range(100))


def test_leftovers_of_tasks_are_not_returned(spark: SparkSession, tmp_path: Path) -> None:
    """An abandoned task that wakes after the end of the job leaves its file in Spark's temporary directory."""
    late = tmp_path / "out" / "_temporary" / "0" / "_temporary" / "attempt_1" / "part-00000.parquet"

    def wake() -> None:
        late.parent.mkdir(parents=True)
        late.write_bytes(b"late")

    wake()
    files = write_part_files(spark.range(3), tmp_path / "out")
    wake()
    assert late not in files
    assert late not in write_part_files(spark.range(3), tmp_path / "out")


def test_records_that_no_task_has_reported_are_refused_on_a_cluster(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears beside those of the tasks would double records; a file that is missing would lose them."""
    monkeypatch.setattr(part_files, "on_cluster", lambda session: True)
    late = str(tmp_path / "out" / "part-late.parquet")

    def wake(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            pq.write_table(pa.Table.from_batches([batch]), late)
            yield batch

    rows = spark.range(3).coalesce(1)
    assert write_part_files(rows, tmp_path / "in-order")
    with pytest.raises(MissingFilesError, match=r"have written 3 records, and 6 are in .* no data of this batch was"):
        write_part_files(rows.mapInArrow(wake, "id bigint"), tmp_path / "out")


def test_the_files_of_a_task_that_a_late_attempt_has_deleted_are_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task whose executor was regarded as lost deletes the files of its successor, to replace them: if the job ends
    before it has, the batch fails. Lines are counted as well as the rows of Parquet."""
    monkeypatch.setattr(part_files, "on_cluster", lambda session: True)

    def delete(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        if context is not None and context.partitionId() == 1:
            end = time.monotonic() + 300
            while not (committed := list(tmp_path.glob("*/_temporary/0/task_*_000000"))):
                assert time.monotonic() < end, "the first task does not commit"
                time.sleep(0.02)
            shutil.rmtree(committed[0])
        yield from batches

    rows = spark.range(0, 4, 1, 2).mapInArrow(delete, "id bigint")
    for format, frame in (("parquet", rows), ("text", rows.selectExpr("string(id)"))):
        with pytest.raises(MissingFilesError, match="have written 4 records, and 2 are in"):
            write_part_files(frame, tmp_path / format, format=format, one_line_each=format == "text")
