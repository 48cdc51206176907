"""A topic on a broker, without Spark: what only Kafka has."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from blueprint.plan import TopicPlan
from cli.main import _report_bug
from streamlets.channels.base import METADATA, Reader, TopicLostError
from streamlets.channels.kafka.appender import WRITERS
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.cluster_errors import ClusterError
from streamlets.channels.kafka.offsets import Offsets
from streamlets.channels.kafka.records import MessageError
from streamlets.channels.kafka.schemas import SCHEMAS, SchemaConflictError
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.channels.waiting import refusal
from streamlets.contract.wire.avro_formats import schema_fingerprint
from tests.streamlets.channels.topics import READING, WIDER, append, batch, contract, ids_of

pytestmark = pytest.mark.spark  # the broker needs Java


def open_topic(
    servers: str, directory: Path, name: str = "", options: Mapping[str, object] | None = None
) -> KafkaTopic:
    """Return a topic, by default with a new name, as the application of a directory opens it."""
    name = name or f"t-{uuid.uuid4().hex}"
    plan = TopicPlan(name, name, "kafka", True, (), (), {"bootstrap.servers": servers, **(options or {})})
    return KafkaChannel(directory).topic(plan)


@pytest.fixture
def topic(kafka_broker: str, tmp_path: Path) -> KafkaTopic:
    """Return a topic with two partitions."""
    made = open_topic(kafka_broker, tmp_path, options={"topic.partitions": 2, "topic": {"retention.ms": "3600000"}})
    made.create([READING])
    return made


def test_a_topic_is_created_with_its_settings(topic: KafkaTopic, tmp_path: Path, kafka_broker: str) -> None:
    """Partitions and configuration are those of the plan; a topic that exists is not altered."""
    assert topic.cluster.existing(topic.name).partitions == 2
    assert topic.cluster.settings(topic.name)["retention.ms"] == "3600000"
    again = open_topic(kafka_broker, tmp_path, topic.name, {"topic.partitions": 5})
    again.create([READING])
    assert topic.cluster.existing(topic.name).partitions == 2


def test_an_external_topic_is_prepared_when_it_appears(kafka_broker: str, tmp_path: Path) -> None:
    """A streamlet that waits for it asks again and again. When it exists, the schemas of its writers are published; one
    that was deleted and created again is not the topic that the application used."""
    theirs = open_topic(kafka_broker, tmp_path / "theirs")
    plan = replace(theirs.plan, managed=False)
    topic = KafkaChannel(tmp_path / "ours").topic(plan)
    assert refusal(topic, [READING]).startswith(f"the topic `{theirs.name}` does not exist")
    theirs.create()
    assert [refusal(topic, [READING]) for _ in range(2)] == ["", ""]
    assert list(topic.state.schemas.of(topic.name).values()) == [READING]
    append(topic, [batch([1])], READING, 0)
    assert ids_of(topic.scan()) == [1]
    theirs.cluster.delete(theirs.name)
    open_topic(kafka_broker, tmp_path / "others", theirs.name).create()
    assert "was deleted and created again" in refusal(topic, [READING])


def test_the_lag_is_known_by_partition(topic: KafkaTopic) -> None:
    """Of a reader at the beginning, of one that has read everything, and of one that lags in one partition."""
    append(topic, [batch([1, 2, 3, 4, 5, 6])], READING, 0, partition_by=("id",))
    lags = topic.lag_by_partition(None)
    assert set(lags) == {"0", "1"} and sum(lags.values()) == topic.lag(None).records == 6
    end = topic.end()
    assert topic.lag_by_partition(end) == {"0": 0, "1": 0}
    offsets = dict(Offsets.from_position(end).partitions)
    lagging = Offsets(topic.name, offsets | {1: offsets[1] - 2}).to_position()
    assert topic.lag_by_partition(lagging) == {"0": 0, "1": 1}, "the last offset is the mark of the transaction"


def test_equal_keys_are_in_one_partition(topic: KafkaTopic) -> None:
    """Records go to the partition of their key, and keep their order there."""
    for number in range(3):
        append(topic, [batch([1, 2, 3, 4, 5, 6])], READING, number, partition_by=("id",))
    rows = [row for batch in topic.scan(metadata=True) for row in batch.to_pylist()]
    assert {row[METADATA]["key"] for row in rows} == {b"1", b"2", b"3", b"4", b"5", b"6"}
    partitions = {
        row["id"]: {other[METADATA]["position"] for other in rows if other["id"] == row["id"]} for row in rows
    }
    assert all(len(found) == 1 for found in partitions.values())
    assert len(set.union(*partitions.values())) == 2


def test_the_schemas_of_writers_are_published(topic: KafkaTopic, kafka_broker: str, tmp_path: Path) -> None:
    """Another application finds the schema of a writer in the topic of schemas, by the fingerprint in messages."""
    append(topic, [batch([1], WIDER)], WIDER, 0)
    other = open_topic(kafka_broker, tmp_path / "other", topic.name)
    assert ids_of(other.scan(READING)) == [1]
    published = other.state.schemas.of(topic.name)
    assert published[schema_fingerprint(WIDER)] == WIDER
    key = f"{topic.name}/{schema_fingerprint(WIDER)}"
    stored = {m.key(): m.value() for m in other.cluster.messages(SCHEMAS, {0: (0, other.cluster.latest(SCHEMAS)[0])})}
    assert stored[key.encode()] == WIDER.json.encode()


def test_schemas_that_messages_do_not_tell_apart_are_refused(topic: KafkaTopic) -> None:
    """A fingerprint does not cover logical types, so a second writer with other ones is an error."""
    millis, micros = (
        contract(("at", {"type": "long", "logicalType": f"timestamp-{unit}"}), name="Event")
        for unit in ("millis", "micros")
    )
    topic.create([millis])
    with pytest.raises(SchemaConflictError, match=r"`Event` .* differs from an earlier one only in its logical types"):
        topic.create([micros])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"garbage", "a message must begin with the bytes c301"),
        (b"\xc3\x01abcdefgh", "no known schema has the fingerprint 6867666564636261"),
    ],
)
def test_a_broken_message_is_named(topic: KafkaTopic, message: bytes, reason: str) -> None:
    """The error has the partition, the offset and the reason; records before it are returned."""
    append(topic, [batch([1])], READING, 0)
    before = topic.end()
    topic.cluster.send(topic.name, [(b"k", message)])
    with pytest.raises(MessageError, match=rf"^topic `{topic.name}`, partition \d, offset \d: {reason}"):
        list(topic.scan(after=before))


def test_a_topic_that_was_created_again_is_not_mistaken_for_the_first(topic: KafkaTopic, kafka_broker: str) -> None:
    """Its positions and contracts mean nothing there, so the application stops using it."""
    append(topic, [batch([1])], READING, 0)
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    with topic.appender(READING, writer="w") as appender:
        admin.delete_topics([topic.name])[topic.name].result(60)
        while not topic.cluster.create(topic.name, 1, -1, {}):
            pass  # the broker deletes the topic after its answer
        with pytest.raises(TopicLostError, match="was deleted and created again"):
            appender.append([batch([2])], 1)
    with pytest.raises(TopicLostError, match="was deleted and created again"):
        topic.create([READING])


def test_positions_are_committed_to_a_group(topic: KafkaTopic, kafka_broker: str) -> None:
    """Kafka's own tools see the progress of a reader, which has no members in the group."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    append(topic, [batch(range(10))], READING, 0)
    end = topic.end()
    group = f"app.{topic.name}.in"
    topic.committed(group, end)
    request = [ConsumerGroupTopicPartitions(group)]
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    found = admin.list_consumer_group_offsets(request)[group].result(60).topic_partitions
    assert Offsets(topic.name, {entry.partition: entry.offset for entry in found}) == Offsets.from_position(end)


def test_a_reader_that_retention_has_overtaken_is_reported_once(topic: KafkaTopic) -> None:
    """The first and the last of the lost records are named."""
    append(topic, [batch(range(10))], READING, 0, partition_by=("id",))
    begin, end = Offsets(topic.name, {0: 0, 1: 0}), Offsets.from_position(topic.end())
    topic.cluster.delete_records(topic.name, end.partitions)
    for _ in range(2):
        topic.maintain(lambda: [Reader("slow", begin.to_position()), Reader("fast", end.to_position())])
    missed = list(topic.missed())
    assert {entry.reader for entry in missed} == {"slow"}
    assert sorted(entry.first for entry in missed) == ["partition 0, offset 0", "partition 1, offset 0"]
    assert list(topic.missed()) == []


def test_a_cluster_that_does_not_answer_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the servers, and commands do not take it for a bug."""
    monkeypatch.setattr("streamlets.channels.kafka.cluster_client.TIMEOUT", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{free.getsockname()[1]}"
    topic = open_topic(servers, tmp_path)
    for question in (topic.create, topic.end, topic.summary, lambda: topic.lag(None)):
        with pytest.raises(ClusterError, match=f"Kafka cluster {servers}") as error:
            question()
        assert isinstance(error.value, OSError)
        assert _report_bug(error.value, ["topics"], show_traceback=False) == 1
        assert capsys.readouterr().err == f"error: {error.value}\n"
        assert "\n" not in str(error.value)


def test_writers_are_in_one_compacted_topic(topic: KafkaTopic) -> None:
    """Compaction keeps the last entry of each writer only."""
    append(topic, [batch([1])], READING, 0)
    assert topic.cluster.settings(WRITERS)["cleanup.policy"] == "compact"
    assert topic.cluster.settings(SCHEMAS)["cleanup.policy"] == "compact"


def test_a_command_without_a_blueprint_finds_the_cluster(kafka_broker: str, tmp_path: Path) -> None:
    """The settings of a topic are kept in the state directory, without secrets."""
    options = {"connection-config": {"client.id": "me", "ssl.key.password": "hunter22"}}
    topic = open_topic(kafka_broker, tmp_path, options=options)
    topic.create([READING])
    append(topic, [batch([1])], READING, 0)
    stored = KafkaChannel(tmp_path).topic(TopicPlan(topic.name, topic.name, "kafka", False, (), (), {}))
    assert ids_of(stored.scan()) == [1]
    assert stored.plan.options["connection-config"] == {"client.id": "me"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"hunter22" in path.read_bytes()]
