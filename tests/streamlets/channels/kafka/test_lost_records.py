"""Records that were deleted before a query has read them: the query stops, or continues after them, and reports it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from blueprint.core_settings import InletSettings
from streamlets.channels.base import Reader as At
from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.cluster_errors import ClusterError
from streamlets.channels.kafka.offsets import Offsets
from streamlets.channels.kafka.topic import KafkaTopic
from tests.streamlets.channels.benches import KafkaBench, kafka_bench
from tests.streamlets.channels.kafka.readers import Reader, message, opened, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def kafka(request: pytest.FixtureRequest, tmp_path: Path) -> KafkaBench:
    """Return the channel in a new directory."""
    return kafka_bench(request, tmp_path)


def slow(kafka: KafkaBench, session: SparkSession, options: Mapping[str, object] | None = None) -> Reader:
    """Return a reader of ten records that reads one of them in a batch."""
    reader = opened(kafka, session, options)
    reader.inlet = replace(reader.inlet, settings=InletSettings(max_records=1))
    for id in range(10):  # one by one, as consumers fetch what was sent together
        send(reader, message(reader, id))
    return reader


def recreate(topic: KafkaTopic) -> None:
    """Delete a topic, and create another one with its name."""
    topic.cluster.delete(topic.name)
    while not topic.cluster.create(topic.name, 1, -1, {}):
        pass  # the broker deletes the topic after its answer


def missed(reader: Reader) -> list[tuple[str, str, str, int]]:
    """Return what was reported. Spark 4.2 has numbers in place of the names of sources."""
    return [(event.reader.replace("(0)", "(in_)"), event.first, event.last, event.records) for event in reader.missed]


def test_retention_while_a_query_runs_stops_it(kafka: KafkaBench, own_session: SparkSession) -> None:
    """The batch fails, and the restart reports the records and does not retry. To continue is a setting."""
    reader = slow(kafka, own_session, {"consumer-config": {"max.partition.fetch.bytes": 1}})  # nothing is read ahead
    reader.between.append(lambda: reader.topic.cluster.delete_records(reader.topic.name, {0: 8}))
    with pytest.raises(Exception):  # noqa: B017 - Spark has several errors for it
        reader.run()
    first = len(reader.ids)
    assert reader.ids == list(range(first))
    assert 0 < first < 8
    with pytest.raises(TopicLostError, match=rf"partition 0, offset {first} to partition 0, offset 7; to .*on-data-"):
        reader.run()
    lost = ("reader.q (in_)", f"partition 0, offset {first}", "partition 0, offset 7", 8 - first)
    assert missed(reader) == [lost]
    own = reader.topic.plan.options
    plan = replace(reader.topic.plan, options=dict(own) | {"on-data-loss": "continue"})
    topic = kafka.open().topic(plan)
    assert isinstance(topic, KafkaTopic)
    reader.topic = topic
    reader.run()
    assert missed(reader) == [lost, lost]
    assert reader.ids == [*range(first), 8, 9]


def test_a_loss_that_a_batch_skips_is_reported(kafka: KafkaBench, own_session: SparkSession) -> None:
    """Also one that nobody sees between two batches. Records that were deleted after they were read are not lost."""
    nothing_ahead = {"max.partition.fetch.bytes": 1}
    reader = slow(kafka, own_session, {"on-data-loss": "continue", "consumer-config": nothing_ahead})
    reader.inlet = replace(reader.inlet, settings=InletSettings(max_records=5))
    reader.between.append(lambda: reader.topic.cluster.delete_records(reader.topic.name, {0: 8}))
    reader.run()
    lost = sorted(set(range(10)) - set(reader.ids))
    assert lost
    assert reader.ids == [id for id in range(10) if id not in lost]
    assert set(lost) <= {5, 6, 7}  # one may have been fetched together with the batch before
    assert missed(reader) == [("reader.q (in_)", "partition 0, offset 5", "partition 0, offset 7", len(lost))]
    send(reader, *(message(reader, id) for id in range(10, 20)))
    reader.between.append(lambda: reader.topic.cluster.delete_records(reader.topic.name, {0: 12}))
    reader.run()
    assert reader.ids == [id for id in range(20) if id not in lost]
    assert len(reader.missed) == 1


def before_the_first_batch(reader: Reader) -> None:
    """Have the first batch begin at the second record, and delete that and the next one before it is read."""
    reader.inlet = replace(reader.inlet, settings=InletSettings(max_records=5))
    reader.topic.cluster.delete_records(reader.topic.name, {0: 1})
    reader.before.append(lambda: reader.topic.cluster.delete_records(reader.topic.name, {0: 3}))


def test_a_loss_in_the_first_batch_is_reported(kafka: KafkaBench, own_session: SparkSession) -> None:
    """It is what was deleted since the batch was planned, not what was deleted before."""
    reader = slow(kafka, own_session, {"on-data-loss": "continue"})
    before_the_first_batch(reader)
    reader.run()
    assert reader.ids == list(range(3, 10))
    assert missed(reader) == [("reader.q (in_)", "partition 0, offset 1", "partition 0, offset 2", 2)]


def test_a_loss_in_the_first_batch_stops_the_query(kafka: KafkaBench, own_session: SparkSession) -> None:
    """For good at its restart, although the batch is not committed."""
    reader = slow(kafka, own_session)
    before_the_first_batch(reader)
    with pytest.raises(Exception):  # noqa: B017 - as above
        reader.run()
    with pytest.raises(TopicLostError, match=r"partition 0, offset 1 to partition 0, offset 2; to .*on-data-loss"):
        reader.run()
    assert missed(reader) == [("reader.q (in_)", "partition 0, offset 1", "partition 0, offset 2", 2)]


def test_what_a_batch_has_skipped(kafka: KafkaBench) -> None:
    """It is counted from the records of one execution of the batch."""
    topic = kafka.topic("in")
    assert isinstance(topic, KafkaTopic)
    topic.cluster.send(topic.name, [(b"k", b"v")] * 10)
    topic.cluster.delete_records(topic.name, {0: 6})
    begin, end = Offsets(topic.name, {0: 2}).to_position(), Offsets(topic.name, {0: 10}).to_position()
    reads = (4, 8, 12, 16, 0)
    counts = [[entry.records for entry in topic.skipped(At(f"q{n}", begin), end, n)] for n in reads]
    assert counts == [[4], [], [2], [], [4]]
    assert topic.skipped(At("q4", begin), end, 4) == ()  # it was reported before


def test_a_topic_that_is_created_again_stops_its_readers(kafka: KafkaBench, own_session: SparkSession) -> None:
    """Its offsets mean nothing in the new topic, so no setting continues there; not while it runs, not at a restart."""
    reader = slow(kafka, own_session, {"on-data-loss": "continue"})
    reader.between.append(lambda: recreate(reader.topic))
    with contextlib.suppress(Exception):  # Spark may continue until it asks for offsets that do not exist
        reader.run()
    with pytest.raises(TopicLostError, match="was deleted and created again"):
        reader.run()
    reader.topic.cluster.delete(reader.topic.name)
    while reader.topic.exists():
        time.sleep(0.05)
    with pytest.raises(TopicLostError, match="does not exist"):
        reader.run()


def test_kafkas_tools_see_the_position_of_a_reader(
    kafka: KafkaBench, own_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is that of the last committed batch. If it cannot be stored, one warning reports it, and no record is lost."""
    reader = slow(kafka, own_session)
    reader.inlet = replace(reader.inlet, settings=InletSettings(max_records=4))
    reader.run()
    admin = AdminClient({"bootstrap.servers": kafka.plan("x").options["bootstrap.servers"]})
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("app.reader.in")]).values()
    offsets = {part.topic: part.offset for part in future.result(60).topic_partitions}
    assert offsets[reader.topic.name] == 10

    def refuse(*_: object) -> None:
        raise ClusterError("not allowed")

    monkeypatch.setattr("streamlets.channels.kafka.topic.topic.store_offsets", refuse)
    send(reader, *(message(reader, id) for id in range(10, 20)))
    reader.run()
    assert reader.ids == list(range(20))
    (warning,) = reader.warnings
    assert str(warning.unit) == "reader.q"
    assert warning.what == (
        "the position of the inlet `in` cannot be stored for other tools; the next batch tries again: not allowed"
    )
    with contextlib.suppress(KafkaException):
        admin.delete_consumer_groups(["app.reader.in"])["app.reader.in"].result(60)
