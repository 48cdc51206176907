"""A batch that is replayed doubles its records in a topic; a deduplicating inlet reads each of them once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructField, StructType, _parse_datatype_string

from blueprint.quantities import Duration
from streamlets.channels.base import METADATA, METADATA_DDL
from streamlets.channels.kafka import batch as batch_module
from streamlets.channels.kafka import exactly_once, staging
from streamlets.channels.kafka.deduplication import Deduplication, deduplicated
from streamlets.contract.types import arrow_schema, spark_schema
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.late_records import records_late
from streamlets.spark.query_logic import query_logic
from streamlets.testkit.channels import QueryBench
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import READING, add, append, contract, ids_of, inlet, outlet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from streamlets.channels.base import TopicResource

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TIMED = contract(
    ("id", "long"), ("label", "string"), ("at", {"type": "long", "logicalType": "timestamp-micros"}), name="Timed"
)
HOUR = Duration(3_600_000_000_000)
DAY = Duration(24 * HOUR.nanoseconds)
POINTS = ("after-staging", "after-shared-out", "after-topic-commit", "before-spark-commit")


class Bench(QueryBench):
    """The Kafka channel, whose topic `out` has timed records only."""

    def topic(self, name: str) -> TopicResource:
        """Return a topic, created if it does not exist."""
        topic = self.channel.topic(self.channels.plan(name))
        topic.create([TIMED if name == "out" else READING])
        return topic


class CrashError(Exception):
    """An interruption at a crash point."""


@pytest.fixture
def kafka(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> QueryBench:
    """Return the Kafka channel."""
    return Bench(kafka_bench(request, tmp_path), own_session)


def interrupt_at(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt a batch the first time that it reaches a crash point."""
    left = [point]

    def crash_point(name: str, *, run: bool = False) -> None:
        if name in left:
            left.remove(name)
            raise CrashError(name)

    for module in (batch_module, exactly_once, staging):
        monkeypatch.setattr(module, "crash_point", crash_point)


def shuffled(bench: QueryBench) -> Any:
    """Return the records with a label and an order that differ at each attempt, as after a shuffle."""
    from pyspark.sql import functions as F

    rows = bench.read(inlet("in"))
    return rows.select("id", F.expr("uuid()").alias("label"), F.lit("2026-01-01").cast("timestamp").alias("at"))


def written_with_interruptions(bench: QueryBench, to: Any, points: tuple[str, ...], monkeypatch: Any) -> list[int]:
    """Write batches, each interrupted at one point and replayed; return the ids in the topic afterwards."""
    for number, point in enumerate(points):
        add(bench.topic("in"), number, range(number * 10, number * 10 + 10))
        interrupt_at(point, monkeypatch)
        with pytest.raises(Exception, match=point):
            bench.run(bench.write(shuffled(bench), to))
        bench.run(bench.write(shuffled(bench), to))
    return ids_of(bench.topic("out").scan())


def test_headers_of_a_staged_outlet(kafka: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption at each point, a replay sends the messages of the first attempt with the same headers, so
    the inlet reads each record once, although their labels would differ. The staged files are removed."""
    to = outlet("out", TIMED, options={"staged": True})
    ids = written_with_interruptions(kafka, to, POINTS, monkeypatch)
    assert len(ids) > 40
    assert set(ids) == set(range(40))
    assert len({row["label"] for batch in kafka.topic("out").scan() for row in batch.to_pylist()}) == 40
    once = kafka.read(inlet("out", TIMED, options={"deduplicate.by-headers": True}))
    assert once.columns == ["id", "label", "at"]
    kafka.run(kafka.write(once.select("id"), outlet("result", contract(("id", "long"))), query="reader"))
    assert sorted(ids_of(kafka.topic("result").scan())) == list(range(40))
    add(kafka.topic("in"), 9, [99])
    kafka.run(kafka.write(shuffled(kafka), to))
    staged = list((kafka.root / "topics" / "_kafka" / "staged").glob("*/*"))
    assert len(staged) == 1


def test_columns(kafka: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without staging, records are recognized by columns that the author names."""
    ids = written_with_interruptions(kafka, outlet("out", TIMED), POINTS[2:], monkeypatch)
    assert len(ids) == 40
    by_columns = {"deduplicate.keys": ["id"], "deduplicate.watermark": "at"}
    once = kafka.read(inlet("out", TIMED, options=by_columns))
    kafka.run(kafka.write(once.select("id"), outlet("result", contract(("id", "long"))), query="reader"))
    assert sorted(ids_of(kafka.topic("result").scan())) == list(range(20))


def test_messages_without_headers_are_not_doubles(kafka: QueryBench) -> None:
    """Records of writers that are not staged pass, each of them."""
    add(kafka.topic("in"), 0, [1, 2, 2, 3])
    rows = kafka.read(inlet("in", options={"deduplicate.by-headers": True}), metadata=True)
    kafka.run(kafka.write(rows.select("id", "src"), outlet("result", READING), query="reader"))
    assert sorted(ids_of(kafka.topic("result").scan())) == [1, 2, 2, 3]


def add_timed(topic: TopicResource, number: int, hours: Iterable[tuple[int, int]]) -> None:
    """Append records in a commit.

    Arguments:
        hours: the id and the hour of each record.
    """
    rows = [{"id": id, "label": "", "at": datetime(2026, 1, 2, hour, tzinfo=UTC)} for id, hour in hours]
    append(topic, [pa.RecordBatch.from_pylist(rows, schema=arrow_schema(TIMED))], TIMED, number)


@pytest.mark.parametrize("options", [{"deduplicate.keys": ["id"]}, {"deduplicate.by-headers": True}], ids=str)
def test_a_window_follows_a_deduplication(kafka: QueryBench, options: dict[str, object]) -> None:
    """The watermark of the inlet is that of its column, so a window of the column has it, and is written when the
    watermark has passed."""
    from pyspark.sql import functions as F

    counted = contract(("id", "long"))

    def run() -> None:
        by_time = {**options, "deduplicate.watermark": "at", "deduplicate.within": HOUR}
        rows = kafka.read(inlet("out", TIMED, options=by_time))
        windows = rows.groupBy(F.window("at", "1 hour")).agg(F.count("*").alias("id"))
        kafka.run(kafka.write(windows.select("id"), outlet("result", counted), query="reader"))

    add_timed(kafka.topic("out"), 0, [(1, 10), (2, 10), (3, 11)])
    run()
    add_timed(kafka.topic("out"), 1, [(4, 15)])
    run()
    kafka.topic("out")
    add_timed(kafka.topic("out"), 2, [(5, 16)])
    run()
    assert sorted(ids_of(kafka.topic("result").scan())) == [1, 2]


@pytest.mark.parametrize(
    "options",
    [{"deduplicate.keys": ["id"], "deduplicate.watermark": "at"}, {"deduplicate.by-headers": True}],
    ids=["columns", "headers"],
)
def test_a_run_has_the_logic_of_a_plan(kafka: QueryBench, tmp_path: Path, options: dict[str, object]) -> None:
    """`--plans` reads empty files in place of messages, and compares with the state of a run."""
    port, session = inlet("out", TIMED, options=options), kafka.session
    schema = StructType([*spark_schema(TIMED), StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
    empty = session.readStream.schema(schema).name("in_").parquet(str(tmp_path))
    deduplication = Deduplication.of(options)
    assert deduplication is not None
    run, planned = (
        query_logic(rows.groupBy("id").count(), "append", [tuple(field.name for field in TIMED.record.fields)])
        for rows in (kafka.read(port), deduplicated(empty, deduplication, metadata=False))
    )
    assert run == planned


def test_a_second_watermark_fails_for_good(kafka: QueryBench) -> None:
    """Spark's error has no condition, and a restart does not fix it."""
    from pyspark.sql import functions as F

    from streamlets.spark.failure import failure_of

    add_timed(kafka.topic("out"), 0, [(1, 10)])
    rows = kafka.read(inlet("out", TIMED, options={"deduplicate.keys": ["id"], "deduplicate.watermark": "at"}))
    windows = rows.withWatermark("at", "1 hour").groupBy(F.window("at", "1 hour")).agg(F.count("*").alias("id"))
    with pytest.raises(Exception, match="Redefining watermark") as raised:
        kafka.run(kafka.write(windows.select("id"), outlet("result", contract(("id", "long"))), query="reader"))
    assert "one watermark" in failure_of(raised.value, building=False).fatal


def late_after(bench: QueryBench, within: Duration) -> list[int]:
    """Process all available data with a delay; return the late records of each batch that dropped some."""
    options = {"deduplicate.keys": ["id"], "deduplicate.watermark": "at", "deduplicate.within": within}
    port = inlet("out", TIMED, options=options)
    to = outlet("result", contract(("id", "long")))
    query = bench.run(bench.write(bench.read(port).select("id"), to, query="reader"))
    reports = [json.loads(report.json) for report in query.recentProgress]
    topics = {"out": bench.topic("out")}
    events = [records_late(report, UnitId("reader", "q"), 1.0, [port], topics) for report in reports]
    assert {event.inlet for event in events if event is not None} <= {"in"}
    return [event.records for event in events if event is not None]


def test_late_records_are_reported(kafka: QueryBench) -> None:
    """Those from before the watermark, among them doubles of records that were read. Doubles after the watermark are
    not late. With a longer delay the watermark does not go back: the next old record is dropped, too."""
    topic = kafka.topic("out")
    add_timed(topic, 0, [(1, 12), (2, 12), (3, 10)])
    assert late_after(kafka, HOUR) == []
    add_timed(topic, 1, [(2, 12), (4, 12), (4, 12)])
    assert late_after(kafka, HOUR) == []
    add_timed(topic, 2, [(5, 12), (3, 10), (6, 2), (7, 3)])
    assert late_after(kafka, HOUR) == [3]
    add_timed(topic, 3, [(6, 2), (8, 12)])
    assert late_after(kafka, DAY) == [1]
    assert sorted(ids_of(kafka.topic("result").scan())) == [1, 2, 3, 4, 5, 8]
