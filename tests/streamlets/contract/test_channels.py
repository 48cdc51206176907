"""Every case holds on every channel: written with Spark or without, read with Spark or without.

All cases go through a topic at once: they are the fields of one record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, SparkSession

from blueprint.avro import Contract, parse_contract
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.contract import arrow_schema, spark_schema
from streamlets.contract.relabel import relabel
from streamlets.spark.session import active
from streamlets.testkit.channels import ChannelBench
from tests.streamlets.channels.topics import append, inlet, outlet
from tests.streamlets.contract.cases import CASES, MISSING, Case

pytestmark = pytest.mark.spark

ROWS = max(len(case.values) for case in CASES)


def contract(side: int) -> Contract:
    """Return the contract of the writer (0) or reader (1): a field per case, and `n` to identify records."""
    fields: list[dict[str, Any]] = [{"name": "n", "type": "int"}]
    for number, case in enumerate(CASES):
        kind = case.reader if side else case.writer
        if kind != MISSING:
            attributes = dict(case.reader_extra) if side else {}
            fields.append({"name": f"f{number}", "type": _own(kind, number), **attributes})
    return parse_contract(json.dumps({"type": "record", "name": "Root", "fields": fields}))


def _own(kind: Any, number: int) -> Any:
    """Return a type with unique names, because a name is defined once in a schema."""
    text = json.dumps(kind)
    for name in ("Point", "Colour", "Hash"):
        text = text.replace(f'"{name}"', f'"{name}{number}"')
    return json.loads(text)


def records(side: int) -> list[dict[str, Any]]:
    """Return as many records as the longest case has; shorter cases repeat."""

    def value(case: Case, row: int) -> Any:
        return case.values[row % len(case.values)][side]

    return [
        {"n": row} | {f"f{i}": value(case, row) for i, case in enumerate(CASES) if value(case, row) is not MISSING}
        for row in range(ROWS)
    ]


def written() -> pa.RecordBatch:
    """Return the written records, in the writer's Arrow schema."""
    return pa.RecordBatch.from_pylist(records(0), schema=arrow_schema(contract(0)))


def topic_of(bench: ChannelBench) -> TopicResource:
    """Create a topic for the writer."""
    return bench.topic("all", contract(0))


def scanned(topic: TopicResource, reader: Contract | None) -> list[dict[str, Any]]:
    """Return the topic's records, read without Spark."""
    found = [row for batch in topic.scan(reader) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["n"])


def _session(spark: SparkSession, bench: ChannelBench) -> SparkSession:
    session = spark.newSession()
    with active(session):
        bench.channel.prepare(session)
    return session


def write_with_spark(spark: SparkSession, bench: ChannelBench, topic: TopicResource, directory: Path) -> None:
    """Write the records to the topic with a Spark query."""
    session = _session(spark, bench)
    source = directory / "source"
    frame = session.createDataFrame(pa.Table.from_batches([written()]), schema=spark_schema(contract(0)))
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    frame.write.parquet(str(source))
    rows = session.readStream.name("source").schema(spark_schema(contract(0))).parquet(str(source))
    branch = Branch(outlet("all", contract(0)), lambda given: given, topic)
    writer = bench.channel.writer(rows, (branch,), None, TopicQuery(streamlet="writer", name="q"))
    query = writer.option("checkpointLocation", str(directory / "written")).trigger(availableNow=True).start()
    query.awaitTermination(120)


def read_with_spark(
    spark: SparkSession, bench: ChannelBench, topic: TopicResource, directory: Path
) -> list[dict[str, Any]]:
    """Return the topic's records as a Spark query reads them."""
    session = _session(spark, bench)
    rows = topic.read(session, inlet("all", contract(1)), name="in_")
    assert rows.schema.simpleString() == spark_schema(contract(1)).simpleString()
    out = str(directory / "out")
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")

    def keep(batch: DataFrame, _: int) -> None:
        batch.write.mode("append").parquet(out)  # not `toArrow`, which fails on nulls above fields without null

    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(directory / "read"))
    writer.trigger(availableNow=True).start().awaitTermination(120)
    found: list[dict[str, Any]] = []
    for batch in ds.dataset(out).to_batches():
        columns = [relabel(batch.column(f.name), f.type) for f in arrow_schema(contract(1))]
        found += pa.RecordBatch.from_arrays(columns, schema=arrow_schema(contract(1))).to_pylist()
    return sorted(found, key=lambda row: row["n"])


def test_without_spark(channel_bench: ChannelBench) -> None:
    """Appended records are scanned with the reader's schema, and with the writer's."""
    topic = topic_of(channel_bench)
    append(topic, [written()], contract(0), 0, writer="test")
    assert scanned(topic, None) == records(0)
    assert scanned(topic, contract(1)) == records(1)


def test_written_without_and_read_with_spark(channel_bench: ChannelBench, spark: SparkSession, tmp_path: Path) -> None:
    """A query reads appended records with its schema."""
    topic = topic_of(channel_bench)
    append(topic, [written()], contract(0), 0, writer="test")
    assert read_with_spark(spark, channel_bench, topic, tmp_path) == records(1)


def test_written_with_and_read_with_and_without_spark(
    channel_bench: ChannelBench, spark: SparkSession, tmp_path: Path
) -> None:
    """Both kinds of readers read the same records of a query."""
    topic = topic_of(channel_bench)
    write_with_spark(spark, channel_bench, topic, tmp_path)
    assert scanned(topic, contract(1)) == records(1)
    assert read_with_spark(spark, channel_bench, topic, tmp_path) == records(1)
