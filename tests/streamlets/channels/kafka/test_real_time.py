"""Queries with a real-time trigger on Kafka topics."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from blueprint.plan import StreamletPlan
from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.channels.base import Branch, TopicQuery
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.cluster_client import Existing
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.runner.units.requirements import require_no_deduplication
from streamlets.spark.drain import drain, is_down
from streamlets.spark.real_time import prepare_for_real_time, shuffle_tasks, task_slots
from streamlets.testkit.channels import QueryBench
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import READING, add, contract, ids_of, inlet, outlet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COLOURED = contract(
    ("id", "long"), ("colour", {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}), name="Coloured"
)


@pytest.fixture
def real_time(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> QueryBench:
    """Return the Kafka channel, with a session for queries in real-time mode."""
    prepare_for_real_time(own_session)
    own_session.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1000")
    return QueryBench(kafka_bench(request, tmp_path), own_session)


def start(
    bench: QueryBench, rows: Any, outlet_plan: Any, dead_letters: str | None = None, every: str = "1 hour"
) -> Any:
    """Start a query in real-time mode."""
    channel = bench.channel
    assert isinstance(channel, KafkaChannel)
    branch: Any = Branch(outlet_plan, lambda rows: rows, bench.topic(outlet_plan.topic))
    dead = bench.topic(dead_letters) if dead_letters else None
    writer: Any = channel.real_time_writer(
        rows, (branch,), dead, TopicQuery(streamlet="writer", name="q", version="1.2")
    )
    writer = writer.outputMode("update").option("checkpointLocation", str(bench.checkpoint()))
    return writer.trigger(realTime=every).start()


def wait_for(query: Any, condition: Any) -> None:
    """Wait until a condition is true while a query runs."""
    end = time.monotonic() + 300
    while not condition():
        assert query.isActive, query.exception()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_records_pass_before_the_checkpoint(real_time: QueryBench) -> None:
    """A query passes records on within a batch that lasts an hour, sends broken rows to the dead letters, and drains
    at once. What it sent since its checkpoint is sent again by the next run, and nothing is lost."""
    from pyspark.sql import functions as F

    topic = real_time.topic("in")
    add(topic, 0, range(3))
    rows = real_time.read(inlet("in")).select("id", F.when(F.expr("id = 1"), "GREEN").otherwise("RED").alias("colour"))
    to = outlet("out", COLOURED, on_invalid="dead-letters")
    query = start(real_time, rows, to, "dead")
    wait_for(query, lambda: ids_of(real_time.topic("out").scan()) == [0, 2])
    add(topic, 1, [7])
    wait_for(query, lambda: ids_of(real_time.topic("out").scan()) == [0, 2, 7])
    (letter,) = [row for batch in real_time.topic("dead").scan(dead_letter_contract()) for row in batch.to_pylist()]
    assert json.loads(letter["record"])["id"] == 1
    assert letter["port"] == "writer.out"
    drain(query)
    end = time.monotonic() + 300
    while not is_down(query):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert query.exception() is None
    add(topic, 2, [8])
    query = start(real_time, rows, to, "dead")
    wait_for(query, lambda: 8 in ids_of(real_time.topic("out").scan()))
    assert set(ids_of(real_time.topic("out").scan())) == {0, 2, 7, 8}
    query.stop()


def test_a_checkpoint_ends_the_repetition(real_time: QueryBench) -> None:
    """Records before the last checkpoint are not sent again, and a bounded run continues after it in batches."""
    topic = real_time.topic("in")
    add(topic, 0, range(3))
    rows = real_time.read(inlet("in"))
    query = start(real_time, rows, outlet("out"), every="1 second")
    wait_for(query, lambda: any(progress["numInputRows"] for progress in query.recentProgress))
    query.stop()
    add(topic, 1, [7])
    real_time.run(real_time.write(rows, outlet("out")))
    assert sorted(ids_of(real_time.topic("out").scan())) == [0, 1, 2, 7]


def test_a_broken_row_fails_the_query(real_time: QueryBench) -> None:
    """The error names the outlet, the reason and the row."""
    from pyspark.sql import functions as F

    add(real_time.topic("in"), 0, [4])
    query = start(real_time, real_time.read(inlet("in")).withColumn("id", F.lit(None).cast("long")), outlet("out"))
    end = time.monotonic() + 300
    while query.isActive:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "a row breaks the contract `Reading` of `writer.out`: `id`: is null" in str(query.exception())


def test_the_tasks_of_a_query_are_known_before_it_starts(real_time: QueryBench) -> None:
    """Each partition of a topic and each partition after a shuffle has a task."""
    channel = real_time.channel
    assert isinstance(channel, KafkaChannel)
    wide = real_time.channels.topic("wide", READING, options={"topic.partitions": 3})
    add(wide, 0, [1])
    rows = real_time.read(inlet("in"))
    assert (channel.source_partitions(rows), shuffle_tasks(rows)) == (1, 0)
    wide_rows = wide.read(real_time.session, inlet("wide"), name="wide")
    real_time.session.conf.set("spark.sql.shuffle.partitions", "2")
    assert (channel.source_partitions(wide_rows), shuffle_tasks(wide_rows.dropDuplicates(["id"]))) == (3, 2)
    assert task_slots(real_time.session) == 2


def test_an_inlet_that_deduplicates_is_refused_before_the_start(real_time: QueryBench) -> None:
    """Spark would refuse it in the first batch, without naming it. Other queries of the streamlet are not affected."""
    port = inlet("in", options={"deduplicate.by-headers": True})
    descriptor: Any = None
    plan = StreamletPlan(ref="reader", class_name="m.Reader", descriptor=descriptor, inlets=(port,))
    topics = {"in": real_time.topic("in")}
    once, all_rows = (real_time.read(inlet).writeStream.format("noop") for inlet in (port, inlet("in")))
    require_no_deduplication(StreamingWrite("q", all_rows), plan, topics)
    with pytest.raises(StreamletError, match="`q` has a real-time trigger, and its inlet `in` deduplicates, which"):
        require_no_deduplication(StreamingWrite("q", once), plan, topics)


def test_partitions_are_those_of_the_cluster_that_is_read(real_time: QueryBench) -> None:
    """Another cluster may have a topic with the same name; here it is the same broker under another address."""
    channel, topic = real_time.channel, real_time.channels.topic("in", READING, options={"topic.partitions": 3})
    assert isinstance(channel, KafkaChannel)
    assert isinstance(topic, KafkaTopic)
    elsewhere = str(topic.plan.options["bootstrap.servers"]).replace("127.0.0.1", "localhost")
    other = channel.topic(replace(topic.plan, options={"bootstrap.servers": elsewhere}))
    assert other.cluster is not topic.cluster
    other.cluster.existing = lambda topic: Existing("another", 7, 1)  # type: ignore[method-assign]
    assert channel.source_partitions(topic.read(real_time.session, inlet("in"), name="in_")) == 3
