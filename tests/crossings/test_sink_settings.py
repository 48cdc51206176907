"""Spark's settings that change the names, the numbers, the sizes or the values of files, with each sink of files and
with the files in which other sinks stage their batches."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamlets.egress.files.type import FORMATS
from streamlets.egress.staging import staged
from tests.crossings import sink_readers
from tests.crossings.combinations import together
from tests.crossings.sink_rows import COUNT, SCHEMA, expressions, same, write_input
from tests.crossings.sink_writes import Written
from tests.crossings.test_sink_options import columns
from tests.streamlets.egress.receiver import receiving

MANIFEST = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter"
CODEC = "mapreduce.output.fileoutputformat.compress"

SETTINGS: tuple[dict[str, str], ...] = (
    {"spark.sql.files.maxRecordsPerFile": "7"},
    {"spark.sql.files.maxRecordsPerFile": "7", "spark.sql.maxConcurrentOutputFileWriters": "5"},
    {"mapreduce.output.basename": "_rows"},
    {"mapreduce.fileoutputcommitter.algorithm.version": "2"},
    {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "true"},
    {"mapreduce.outputcommitter.factory.class": f"{MANIFEST}Factory"},
    {"spark.sql.sources.outputCommitterClass": MANIFEST},
    {"spark.sql.parquet.output.committer.class": MANIFEST},
    {"spark.sql.sources.commitProtocolClass": "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"},
    {"spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol"},
    {"spark.sql.sources.partitionOverwriteMode": "dynamic"},
    {"spark.sql.shuffle.partitions": "5", "spark.sql.adaptive.enabled": "false"},
    {"spark.sql.optimizer.plannedWrite.enabled": "false"},
    {"spark.sql.parquet.compression.codec": "gzip", "spark.sql.orc.compression.codec": "zstd"},
    {CODEC: "true", f"{CODEC}.codec": "org.apache.hadoop.io.compress.GzipCodec"},
    {"parquet.block.size": "65536", "parquet.page.size": "1024", "orc.stripe.size": "65536"},
    {"parquet.summary.metadata.level": "ALL"},
    {"spark.sql.parquet.outputTimestampType": "INT96"},
    {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"},
    {"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY", "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY"},
    {"spark.sql.parquet.writeLegacyFormat": "true"},
    {"spark.sql.session.timeZone": "Europe/Berlin"},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    {"spark.sql.jsonGenerator.ignoreNullFields": "false"},
    {"spark.sql.ansi.enabled": "false", "spark.sql.storeAssignmentPolicy": "LEGACY"},
    {"spark.sql.caseSensitive": "true"},
    {"spark.sql.files.ignoreCorruptFiles": "true", "spark.sql.files.ignoreMissingFiles": "true"},
    {"spark.sql.legacy.charVarcharAsString": "true", "spark.sql.legacy.json.allowEmptyString.enabled": "true"},
)
"""Settings as a user could write them; a name without `spark.` is one of Hadoop."""


TOGETHER = together(SETTINGS)
"""The settings of the gate."""


@pytest.fixture(scope="module")
def input(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the records, and return their file."""
    path = tmp_path_factory.mktemp("rows") / "records.parquet"
    write_input(path)
    return path


def rows_with(spark: SparkSession, input: Path, settings: Mapping[str, str], names: Sequence[str]) -> DataFrame:
    """Return records in two tasks, in a session with settings."""
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return session.read.parquet(str(input)).selectExpr(*names).repartition(2, "id")


@dataclass(frozen=True)
class Cell:
    """A sink of files with settings.

    Arguments:
        sink: the sink.
        settings: the settings.
        partition_by: the partition columns.
        merged: whether the records are written in three batches, of which two are merged.
    """

    sink: str
    settings: Mapping[str, str]
    partition_by: tuple[str, ...]
    merged: bool


def run(spark: SparkSession, input: Path, root: Path, cell: Cell) -> None:
    """Write the records, and compare them."""
    sink, written = cell.sink, columns(cell.sink, cell.partition_by)
    rows = rows_with(spark, input, cell.settings, expressions(sink, written))
    options = {"path": "out"} | ({"compact": "0 seconds"} if cell.merged else {})
    target = Written(sink, root, options, cell.partition_by)
    for batch in range(3) if cell.merged else ():
        target.write(rows.where(f"pmod(id, 3) = {batch}"), batch)
    if not cell.merged:
        target.write(rows)
    assert sum(target.batches) == COUNT
    same(sink_readers.READERS[sink](root / "out", written), written, sink)


@pytest.mark.spark
def test_all_settings_with_each_sink_of_files(spark: SparkSession, input: Path, tmp_path: Path) -> None:
    """With and without partitions, and merged: each sink in each of these ways and with each of the settings."""
    ways = (((), False), (("part",), False), ((), True))
    assert len(TOGETHER) <= len(ways)
    cells = [
        Cell(sink, TOGETHER[(row + column) % len(TOGETHER)], *way)
        for row, sink in enumerate(FORMATS)
        for column, way in enumerate(ways)
    ]
    _run_all(spark, input, tmp_path, cells)


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.parametrize("sink", FORMATS)
def test_each_setting_with_each_sink_of_files(spark: SparkSession, input: Path, tmp_path: Path, sink: str) -> None:
    """All combinations."""
    ways = itertools.product(SETTINGS, ((), ("part",)), (False, True))
    _run_all(spark, input, tmp_path, [Cell(sink, *way) for way in ways])


def _run_all(spark: SparkSession, input: Path, tmp_path: Path, cells: Sequence[Cell]) -> None:
    failures = {}
    for number, cell in enumerate(cells):
        (root := tmp_path / str(number)).mkdir()
        try:
            run(spark, input, root, cell)
        except Exception as error:  # noqa: BLE001 - all failures are shown
            failures[str(cell)] = f"{type(error).__name__}: {str(error)[:600]}"
    assert not failures, "\n".join(f"{cell}: {error}" for cell, error in failures.items())


EACH = pytest.mark.parametrize(
    "settings",
    [*TOGETHER, *(pytest.param(settings, marks=pytest.mark.full) for settings in SETTINGS)],
    ids=lambda settings: "+".join(settings)[:60],
)


@pytest.mark.spark
@EACH
def test_settings_with_staged_batches(
    spark: SparkSession, input: Path, tmp_path: Path, settings: dict[str, str]
) -> None:
    """The files from which `delta`, `iceberg` and `jdbc` load a batch have all records, in Arrow's types."""
    with staged(rows_with(spark, input, settings, SCHEMA.names), tmp_path / "staged") as records:
        assert isinstance(records, ds.Dataset)
        same(sink_readers.by_number(sink_readers.from_arrow(records.to_table())), SCHEMA.names)


@pytest.mark.spark
@EACH
def test_settings_with_requests(spark: SparkSession, input: Path, tmp_path: Path, settings: dict[str, str]) -> None:
    """The sink `webhook` sends all records, with the values of its JSON."""
    names = [name for name in SCHEMA.names if name != "amount"]  # the receiver reads decimals as floats
    with receiving() as receiver:
        Written("webhook", tmp_path, {"url": receiver.url}).write(rows_with(spark, input, settings, names))
        sent: list[dict[str, Any]] = [record for records in receiver.taken.values() for record in records]
        values = ({name: sink_readers.json_value(name, row[name]) for name in names} for row in sent)
        same(sink_readers.by_number(values), names)
