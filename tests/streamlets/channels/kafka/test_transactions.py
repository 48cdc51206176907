"""Transactions of an appender on a broker: in one partition, and in one batch of a reader."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from streamlets.channels.base import METADATA, WriterFencedError
from streamlets.channels.kafka.stored_batches import stored
from tests.streamlets.channels.kafka.test_topic import open_topic
from tests.streamlets.channels.topics import READING, batch, ids_of, inlet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = 5_000  # as many as the producer would not send to one partition by itself
TRANSACTIONS = 4
LIMIT = 120.0


def test_batches_that_are_read_again() -> None:
    """Few are in memory, many in a file; batches of a generator are taken once."""
    for count in (0, 1, 40):
        row = pa.RecordBatch.from_pylist([{"text": "x" * 1000}] * 500)
        with stored(row for _ in range(count)) as batches:
            assert [list(batches), list(batches)] == [[row] * count] * 2
            with stored(batches) as again:
                assert again is batches
    strict = pa.schema([pa.field("text", pa.string(), nullable=False)])
    mixed = [row, pa.RecordBatch.from_arrays(row.columns, schema=strict)]
    with stored(mixed) as batches:
        assert [batch.to_pylist() for batch in batches] == [row.to_pylist()] * 2


@pytest.mark.spark
def test_a_batch_has_whole_transactions(spark: SparkSession, kafka_broker: str, tmp_path: Path) -> None:
    """Each transaction is in one partition, all of which are used, so that a reader gets it in one batch."""
    from pyspark.sql import functions as F

    topic = open_topic(kafka_broker, tmp_path, options={"topic.partitions": 3})
    topic.create([READING])
    batches: list[Counter[int]] = []

    def take(rows: Any, number: int) -> None:
        counts = rows.groupBy(F.expr(f"id DIV {SIZE}").alias("transaction")).count().collect()
        batches.append(Counter({row.transaction: row["count"] for row in counts}))

    def deliver() -> None:
        with topic.appender(READING, writer="spout", epoch=1) as appender:
            for number in range(TRANSACTIONS):
                appender.append([batch(range(number * SIZE, number * SIZE + SIZE))], number)

    rows = topic.read(spark, inlet(topic.name), name="whole")
    query = rows.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        thread = threading.Thread(target=deliver)
        thread.start()
        end = time.monotonic() + LIMIT
        while sum(map(len, batches)) < TRANSACTIONS and query.isActive and time.monotonic() < end:
            time.sleep(0.05)
        thread.join(LIMIT)
    finally:
        query.stop()
    assert [count for counts in batches for count in counts.values()] == [SIZE] * TRANSACTIONS
    records = [row for batch in topic.scan(metadata=True) for row in batch.to_pylist()]
    places = {(row["id"] // SIZE, row[METADATA]["position"]) for row in records}
    assert len(places) == TRANSACTIONS
    assert {position for _, position in places} == {"0", "1", "2"}


class Fenced:
    """A producer that notices between two calls that another one has fenced it."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def produce(self, *_: object, **__: object) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL))

    def commit_transaction(self, *_: object) -> None:
        raise KafkaException(KafkaError(KafkaError._FENCED))


@pytest.mark.spark
def test_a_writer_that_a_lower_epoch_has_interrupted_continues(kafka_broker: str, tmp_path: Path) -> None:
    """Kafka refuses the producer of the highest epoch after one of a lower epoch was opened. The append begins again
    with another producer, whether the first one notices this at its commit or before."""
    topic = open_topic(kafka_broker, tmp_path)
    topic.create([READING])
    with topic.appender(READING, writer="spout", epoch=2) as appender:
        with pytest.raises(WriterFencedError):
            topic.appender(READING, writer="spout", epoch=1)
        assert appender.append([batch([1])], 0)
        appender._producer = Fenced(appender._producer)
        assert appender.append([batch([2])], 1)
    assert ids_of(topic.scan()) == [1, 2]


@pytest.mark.spark
@pytest.mark.parametrize(
    "settings", [{"acks": 1}, {"retries": 0}, {"max.in.flight.requests.per.connection": 50}], ids=str
)
def test_settings_of_producers_do_not_prevent_transactions(
    kafka_broker: str, tmp_path: Path, settings: dict[str, object]
) -> None:
    """A client would refuse them together with transactions; Spark's producers have them."""
    topic = open_topic(kafka_broker, tmp_path, options={"producer-config": settings})
    topic.create([READING])
    with topic.appender(READING, writer="spout") as appender:
        assert appender.append([batch(range(3))], 0)
    assert ids_of(topic.scan()) == [0, 1, 2]
