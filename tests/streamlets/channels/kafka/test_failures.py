"""What happens to topics while queries run: each failure is one clear message, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.spark.failure import Failure, failure_of, failure_of_text
from streamlets.testkit.channels import QueryBench
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import READING, add, append, batch, ids_of, inlet, outlet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

_LIMIT = 180.0


@pytest.fixture
def bench(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> QueryBench:
    """Return the Kafka channel with a new session."""
    return QueryBench(kafka_bench(request, tmp_path), own_session)


def wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _LIMIT
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def topic_of(bench: QueryBench, name: str) -> KafkaTopic:
    topic = bench.topic(name)
    assert isinstance(topic, KafkaTopic)
    return topic


def failure_of_query(query: Any) -> Failure:
    """Wait until a query has failed; return why, as the runner reports it."""
    wait_until(lambda: not query.isActive)
    return failure_of_text(str(query.exception()), building=False)


def start(bench: QueryBench, rows: DataFrame) -> Any:
    return bench.write(rows, outlet("out")).trigger(processingTime="100 milliseconds").start()


def test_added_partitions_are_read(bench: QueryBench) -> None:
    """A running query reads partitions that are added, from their beginning."""
    topic = topic_of(bench, "in")
    append(topic, [batch(range(10))], READING, 0, partition_by=("id",))
    query = start(bench, bench.read(inlet("in")))
    out = topic_of(bench, "out")
    wait_until(lambda: len(ids_of(out.scan())) == 10)
    topic.cluster.add_partitions(topic.name, 3)
    wait_until(lambda: topic.cluster.existing(topic.name).partitions == 3)
    append(topic, [batch(range(10, 60))], READING, 1, partition_by=("id",))
    assert len(topic.cluster.latest(topic.name)) == 3
    wait_until(lambda: len(ids_of(out.scan())) >= 60)
    query.stop()
    assert sorted(ids_of(out.scan())) == list(range(60))


def test_a_topic_that_is_deleted_while_it_is_read(bench: QueryBench) -> None:
    """The query fails, and the next start fails for good with the name of the topic."""
    topic = topic_of(bench, "in")
    add(topic, 0, range(5))
    query = start(bench, bench.read(inlet("in")))
    out = topic_of(bench, "out")
    wait_until(lambda: len(ids_of(out.scan())) == 5)
    topic.cluster.delete(topic.name)
    failure = failure_of_query(query)
    assert failure.cause.startswith("a Kafka topic of the query was deleted, or its broker has just started: ")
    assert not failure.fatal
    with pytest.raises(TopicLostError, match=f"the topic `{topic.name}` does not exist on the Kafka cluster") as lost:
        topic.read(bench.session, inlet("in"), name="in_")
    assert failure_of(lost.value, building=True).fatal


def test_a_topic_that_is_deleted_while_it_is_written(bench: QueryBench) -> None:
    """The query fails for good with the name of the topic; what it has read is not committed."""
    topic = topic_of(bench, "in")
    add(topic, 0, range(5))
    query = start(bench, bench.read(inlet("in")))
    out = topic_of(bench, "out")
    wait_until(lambda: len(ids_of(out.scan())) == 5)
    out.cluster.delete(out.name)
    add(topic, 1, range(5, 10))
    failure = failure_of_query(query)
    assert f"the topic `{out.name}` does not exist on the Kafka cluster" in failure.cause
    assert failure.fatal
    planned, committed = (max(map(int, _numbers(bench, log))) for log in ("offsets", "commits"))
    assert planned == committed + 1


@pytest.mark.parametrize("size", [5_000, 2_000_000], ids=["the broker's limit", "the producer's limit"])
def test_a_record_over_the_limit(bench: QueryBench, size: int) -> None:
    """The query fails for good with the name of the topic and the sizes; no restart helps."""
    from pyspark.sql import functions as F

    add(topic_of(bench, "in"), 0, range(3))
    out = topic_of(bench, "out")
    out.cluster.alter_settings(out.name, {"max.message.bytes": "1000"})
    long = F.repeat(F.lit("a"), F.when(F.col("id") == 1, size).otherwise(1))
    failure = failure_of_query(start(bench, bench.read(inlet("in")).withColumn("src", long)))
    assert failure.cause.startswith(f"RecordTooLargeError: a record is too large for the topic `{out.name}`: ")
    assert "max.message.bytes" in failure.fatal
    assert not _numbers(bench, "commits")


def _numbers(bench: QueryBench, log: str) -> list[str]:
    directory = bench.checkpoint() / log
    return [path.name for path in directory.iterdir() if path.name.isdigit()] if directory.exists() else []
