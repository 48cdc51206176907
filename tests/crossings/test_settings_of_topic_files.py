"""Every setting of Spark that changes the names, the number, the size or the content of files, crossed with the
layouts of a topic: all records are read back as they were."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import Branch, TopicQuery
from streamlets.channels.delta.batch import BatchWriter
from streamlets.contract.types import spark_schema
from tests.streamlets.channels.topics import Clock, made, outlet

pytestmark = pytest.mark.spark

_INNER = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": ["null", "double"]}]}
CONTRACT = parse_contract(
    json.dumps(
        {
            "type": "record",
            "name": "Row",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "part", "type": ["null", "string"]},
                {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
                {"name": "day", "type": {"type": "int", "logicalType": "date"}},
                {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}},
                {"name": "tags", "type": {"type": "array", "items": "string"}},
                {"name": "sizes", "type": {"type": "map", "values": "int"}},
                {"name": "inner", "type": ["null", _INNER]},
            ],
        }
    )
)

_HADOOP = "org.apache.hadoop.mapreduce.lib.output"
SETTINGS = [
    ("spark.sql.files.maxRecordsPerFile", "7"),
    ("spark.sql.parquet.compression.codec", "none"),
    ("spark.sql.parquet.compression.codec", "gzip"),
    ("spark.sql.parquet.compression.codec", "zstd"),
    ("spark.sql.parquet.compression.codec", "lz4_raw"),
    ("spark.sql.parquet.outputTimestampType", "INT96"),
    ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS"),
    ("spark.sql.parquet.writeLegacyFormat", "true"),
    ("spark.sql.parquet.fieldId.write.enabled", "false"),
    ("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"),
    ("spark.sql.parquet.int96RebaseModeInWrite", "LEGACY"),
    ("spark.sql.parquet.output.committer.class", f"{_HADOOP}.FileOutputCommitter"),
    ("spark.sql.parquet.output.committer.class", f"{_HADOOP}.committer.manifest.ManifestCommitter"),
    ("spark.sql.sources.outputCommitterClass", f"{_HADOOP}.committer.manifest.ManifestCommitter"),
    ("spark.sql.sources.commitProtocolClass", "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"),
    (
        "spark.sql.sources.commitProtocolClass",
        "org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol",
    ),
    ("spark.sql.sources.partitionOverwriteMode", "dynamic"),
    ("spark.sql.sources.partitionColumnTypeInference.enabled", "false"),
    ("spark.sql.maxConcurrentOutputFileWriters", "5"),
    ("spark.sql.optimizer.plannedWrite.enabled", "false"),
    ("spark.sql.adaptive.enabled", "false"),
    ("spark.sql.session.timeZone", "America/St_Johns"),
    ("spark.sql.caseSensitive", "true"),
    ("mapreduce.fileoutputcommitter.algorithm.version", "2"),
    ("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true"),
    ("mapreduce.output.basename", "rows"),
    ("mapreduce.output.basename", "_hidden"),
    ("mapreduce.outputcommitter.factory.class", f"{_HADOOP}.committer.manifest.ManifestCommitterFactory"),
    ("parquet.block.size", "1024"),
    ("parquet.page.size", "64"),
    ("parquet.dictionary.page.size", "64"),
    ("parquet.enable.dictionary", "false"),
    ("parquet.writer.version", "PARQUET_2_0"),
    ("parquet.bloom.filter.enabled", "true"),
    ("parquet.summary.metadata.level", "ALL"),
    ("parquet.page.write-checksum.enabled", "false"),
]
LAYOUTS: dict[str, tuple[str, ...]] = {"one directory": (), "partitions": ("part", "at")}

ROWS: list[dict[str, Any]] = [
    {
        "id": number,
        "part": (None, "", "a b/c=%d", "__x")[number % 4],
        "at": (
            datetime.datetime(1500, 2, 28, 1, 2, 3, 456789, tzinfo=datetime.UTC),
            datetime.datetime(2024, 10, 27, 0, 30, 0, 1, tzinfo=datetime.UTC),
        )[number % 2],
        "day": (datetime.date(1500, 2, 28), datetime.date(2024, 2, 29))[number % 2],
        "price": Decimal(number * 1001).scaleb(-3),
        "tags": [f"t{number}"] * (number % 3),
        "sizes": {f"k{number}": number},
        "inner": {"a": number / 3} if number % 5 else None,
    }
    for number in range(100)
]


@pytest.mark.parametrize(
    ("setting", "value", "layout"),
    [
        pytest.param(setting, value, layout, marks=[pytest.mark.full] if layout == "partitions" and n % 6 else [])
        for (n, (setting, value)), layout in product(enumerate(SETTINGS), LAYOUTS)
    ],
)
def test_all_records_are_read_back(spark: SparkSession, tmp_path: Path, setting: str, value: str, layout: str) -> None:
    """A batch that Spark writes with the setting has all its records, with their values."""
    session = spark.newSession()
    session.conf.set(setting, value)
    topic = made(tmp_path)
    plan = outlet("readings", CONTRACT, partition_by=LAYOUTS[layout])
    rows = [tuple(row[field.name] for field in CONTRACT.record.fields) for row in ROWS]
    frame = session.createDataFrame(rows, spark_schema(CONTRACT)).repartition(3)
    writer = BatchWriter(
        root=tmp_path,
        branches=(Branch(plan, lambda batch: batch, topic.path),),
        dead_letters=None,
        query=TopicQuery(streamlet="writer", name="q"),
        clock=Clock(),
    )
    writer(frame, 0)
    written = [row for batch in topic.scan(CONTRACT) for row in batch.to_pylist()]
    assert sorted(map(plain, written), key=str) == sorted(map(plain, ROWS), key=str)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a record with maps as sorted lists."""
    return {**row, "sizes": sorted(dict(row["sizes"]).items())}
