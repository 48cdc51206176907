"""`ShareSender` on a broker, without Spark: attempts that fence each other, and what they send."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError, KafkaException

from streamlets.channels.base import BatchMismatchError, RecordTooLargeError
from streamlets.channels.kafka import transactions
from streamlets.channels.kafka.cluster_errors import ClusterError, channel_error
from streamlets.channels.kafka.shares import Share
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.channels.kafka.transactions import Progress, Sending, Sent, ShareSender, send_share
from tests.streamlets.channels.kafka.test_topic import open_topic
from tests.streamlets.channels.topics import READING, batch

pytestmark = pytest.mark.spark  # the broker needs Java

MESSAGES = 12
_OPEN = 0.5  # seconds that a transaction of another writer stays open


class CrashError(Exception):
    """An interruption at a crash point."""


@pytest.fixture
def topic(kafka_broker: str, tmp_path: Path) -> KafkaTopic:
    """Return a new topic with two partitions."""
    topic = open_topic(kafka_broker, tmp_path, options={"topic.partitions": 2})
    topic.create([READING])
    topic.state.writers.create()
    return topic


def sending(to: KafkaTopic, directory: Path, number: int = 0, **changes: Any) -> Sending:
    """Return a batch of one share with two files."""
    files = []
    for part in range(2):
        file = directory / f"{number}-{part}.parquet"
        values = [f"{number}/{part}/{message}".encode() for message in range(MESSAGES // 2)]
        pq.write_table(pa.table({"key": [b"k"] * len(values), "value": values}), file)
        files.append(str(file))
    share = Share(tuple(files), MESSAGES)
    arguments: dict[str, Any] = {
        "connections": to.cluster.connections, "writers": to.state.writers.topic, "prefix": "streamlets",
        "name": f"{to.name}/app.s:q:out:0", "query": "`s.q`", "batch": number, "shares": f"shares-{number}",
        "share": share, "topic": to.name,
    }  # fmt: skip
    return Sending(**{**arguments, **changes})


def committed(topic: KafkaTopic) -> list[Any]:
    """Return the committed messages, those of a partition in their order."""
    ends = topic.cluster.stored(topic.name)
    assert topic.cluster.await_committed(topic.name, ends, 30)
    return list(topic.cluster.messages(topic.name, {number: (0, end) for number, end in ends.items()}))


def values(topic: KafkaTopic) -> list[str]:
    """Return the values of the committed messages."""
    return [(message.value() or b"").decode() for message in committed(topic)]


def all_of(*batches: int) -> list[str]:
    """Return the messages of batches."""
    return [f"{number}/{part}/{n}" for number in batches for part in range(2) for n in range(MESSAGES // 2)]


def interrupted_at(point: str, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object] | None = None) -> None:
    """Interrupt the first attempt at a crash point, or do something else there."""
    left = [point]

    def crash_point(name: str, *, run: bool = False) -> None:
        if name in left:
            left.remove(name)
            if act is None:
                raise CrashError(name)
            act()

    monkeypatch.setattr(transactions, "crash_point", crash_point)


def test_batches_are_sent_once_in_their_order(topic: KafkaTopic, tmp_path: Path) -> None:
    """By one sender or another; a repeated one is not sent, and the number of marks does not count as records."""
    sender = ShareSender(topic.cluster)
    first = sending(topic, tmp_path)
    assert sender.send(first) == sender.send(first)
    sender.send(sending(topic, tmp_path, 1))
    outcome = send_share(first)
    assert isinstance(outcome, BatchMismatchError)
    assert isinstance(send_share(sending(topic, tmp_path, 1)), Sent)
    assert isinstance(send_share(sending(topic, tmp_path, 2)), Sent)
    assert values(topic) == all_of(0, 1, 2)
    assert topic.lag(None, reader="r").records == 3 * MESSAGES


def test_an_attempt_that_wakes_at_its_commit_is_fenced(
    topic: KafkaTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later attempt has sent the share meanwhile: the first one fails, and its messages are not committed."""
    later: list[Sent | Exception] = []
    interrupted_at("after-share-sent", monkeypatch, lambda: later.append(send_share(sending(topic, tmp_path))))
    outcome = send_share(sending(topic, tmp_path))
    assert isinstance(later[0], Sent)
    assert isinstance(outcome, ClusterError)
    assert "another attempt has begun" in str(outcome)
    assert values(topic) == all_of(0)


def test_an_attempt_that_wakes_after_its_successor_sends_nothing(topic: KafkaTopic, tmp_path: Path) -> None:
    """It knows no entry, as when it was suspended before it opened its producer; it fences those that follow, which
    continue after an error."""
    first, second = sending(topic, tmp_path), sending(topic, tmp_path, 1)
    held = ShareSender(topic.cluster)
    held.send(first)
    assert isinstance(send_share(first), Sent)
    with pytest.raises(ClusterError, match="another attempt has begun"):
        held.send(second)
    held.send(second)
    assert isinstance(send_share(first), BatchMismatchError)
    assert values(topic) == all_of(0, 1)


def test_an_open_transaction_of_a_dead_attempt_is_aborted(
    topic: KafkaTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next attempt does not wait until it times out."""
    interrupted_at("after-share-sent", monkeypatch)
    dead = ShareSender(topic.cluster)
    monkeypatch.setattr(dead, "release", lambda: None)  # it is killed: nothing is aborted
    with pytest.raises(CrashError):
        dead.send(sending(topic, tmp_path))
    assert isinstance(send_share(sending(topic, tmp_path)), Sent)
    assert values(topic) == all_of(0)


def test_a_large_share_takes_several_transactions(
    topic: KafkaTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that none of them exceeds the timeout. After an interruption it continues after those that were committed."""
    monkeypatch.setattr(transactions, "_AT_ONCE", 5)
    monkeypatch.setattr(ShareSender, "_longest", lambda *_: -1.0)
    sent = []

    def crash_point(name: str, *, run: bool = False) -> None:
        sent.append(name)
        if len(sent) == 2:
            raise CrashError(name)

    monkeypatch.setattr(transactions, "crash_point", crash_point)
    assert isinstance(send_share(sending(topic, tmp_path)), CrashError)
    assert values(topic) == all_of(0)[:5]
    outcome = send_share(sending(topic, tmp_path))
    assert isinstance(outcome, Sent)
    assert outcome.progress == Progress(0, "shares-0", MESSAGES)
    assert len(sent) == 6
    assert values(topic) == all_of(0)


def test_another_batch_under_a_number_is_refused(topic: KafkaTopic, tmp_path: Path) -> None:
    """An older copy of a state directory would drop records, or send others twice."""
    send_share(sending(topic, tmp_path, 3))
    for other in (sending(topic, tmp_path, 3, shares="others"), sending(topic, tmp_path, 2)):
        outcome = send_share(other)
        assert isinstance(outcome, BatchMismatchError)
        assert f"the query `s.q` would send batch {other.batch} to the topic `{topic.name}`" in str(outcome)
        assert "which has batch 3 of it with other content" in str(outcome)
    assert values(topic) == all_of(3)


@pytest.mark.parametrize("appender", [False, True], ids=["share", "appender"])
def test_a_writer_finds_its_entry_after_an_open_transaction_of_another(
    topic: KafkaTopic, tmp_path: Path, appender: bool
) -> None:
    """Readers do not see what follows it, so a writer that is opened waits for its end before it decides what it has
    sent."""
    sender, opened = ShareSender(topic.cluster), topic.appender(READING, writer="w")
    sender.send(sending(topic, tmp_path))
    other = topic.cluster.producer(f"streamlets/{topic.name}/other")
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(topic.state.writers.topic, key=f"{topic.name}/other".encode(), value=b"{}")
    assert other.flush(30) == 0
    if appender:
        opened.append([batch([7])], 0)
    else:
        sender.send(sending(topic, tmp_path, 1))
    ender = threading.Timer(_OPEN, lambda: other.abort_transaction(30))
    ender.start()
    if appender:
        with topic.appender(READING, writer="w") as later:
            assert not later.append([batch([7])], 0)
    else:
        assert isinstance(send_share(sending(topic, tmp_path, 1)), Sent)
        assert values(topic) == all_of(0, 1)
    ender.join()


def test_headers_partitions_and_other_topics(kafka_broker: str, topic: KafkaTopic, tmp_path: Path) -> None:
    """Columns of stored messages that may be missing."""
    file = tmp_path / "messages.parquet"
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = [
        {"key": None, "value": b"a", "partition": 1, "topic": topic.name, "headers": [{"key": "h", "value": b"1"}]},
        {"key": b"k", "value": None, "partition": 0, "topic": topic.name, "headers": None},
        {"key": b"k", "value": b"c", "partition": None, "topic": topic.name, "headers": []},
    ]
    schema = pa.schema(
        [("key", pa.binary()), ("value", pa.binary()), ("partition", pa.int32()), ("topic", pa.string())]
    ).append(pa.field("headers", headers))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)
    outcome = send_share(sending(topic, tmp_path, share=Share((str(file),), 3), topic="unused"))
    assert isinstance(outcome, Sent)
    found = {message.value(): (message.key(), message.partition(), message.headers()) for message in committed(topic)}
    assert found[b"a"] == (None, 1, [("h", b"1")])
    assert found[None] == (b"k", 0, None)
    assert found[b"c"][0] == b"k"


def test_refused_messages(topic: KafkaTopic, tmp_path: Path) -> None:
    """One clear error each, and nothing is committed. Messages within the limit are sent, although
    together they exceed it."""
    topic.cluster.alter_settings(topic.name, {"max.message.bytes": "1000"})
    file = tmp_path / "large.parquet"
    for size, settings in ((5_000, {"compression.type": "none"}), (3_000_000, {})):
        pq.write_table(pa.table({"value": [b"ok", bytes(size)]}), file)
        outcome = send_share(sending(topic, tmp_path, share=Share((str(file),), 2), settings=settings))
        assert isinstance(outcome, RecordTooLargeError), outcome
        assert topic.name in str(outcome)
    pq.write_table(pa.table({"value": [bytes([n]) * 200 for n in range(100)]}), file)
    limited = sending(topic, tmp_path, share=Share((str(file),), 100), settings={"batch.size": 1000})
    assert isinstance(send_share(limited), Sent)
    assert len(values(topic)) == 100


def test_a_timeout_that_the_broker_does_not_allow(topic: KafkaTopic, tmp_path: Path) -> None:
    """The error names the settings of both sides."""
    outcome = send_share(sending(topic, tmp_path, settings={"transaction.timeout.ms": 3_600_000}))
    assert isinstance(outcome, ClusterError)
    assert "does not allow transactions as long as `transaction.timeout.ms`" in str(outcome)
    assert "transaction.max.timeout.ms" in outcome.help


@pytest.mark.parametrize(
    "settings",
    [
        {"acks": "1"},
        {"retries": "0"},
        {"delivery.timeout.ms": "300000"},
        {"max.in.flight.requests.per.connection": "50"},
        {"compression.type": "zstd", "linger.ms": "50"},
    ],
    ids=str,
)
def test_settings_of_producers(topic: KafkaTopic, tmp_path: Path, settings: dict[str, str]) -> None:
    """Those that contradict transactions are not used, for shares and appenders alike."""
    connections = topic.cluster.connections
    producer = replace(connections.producer, librdkafka={**connections.producer.librdkafka, **settings})
    assert isinstance(send_share(sending(topic, tmp_path, connections=replace(connections, producer=producer))), Sent)
    assert values(topic) == all_of(0)


@pytest.mark.parametrize(
    ("code", "message", "help"),
    [
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "refused a request", "flow topics acls"),
        (KafkaError.PRODUCER_FENCED, "another attempt has begun", "transaction.timeout.ms"),
        (KafkaError.COORDINATOR_NOT_AVAILABLE, "has no transactions", "__transaction_state"),
        (KafkaError.UNSUPPORTED_VERSION, "has no transactions", "__transaction_state"),
    ],
)
def test_errors_of_transactions(code: int, message: str, help: str) -> None:
    """Each has a remedy."""
    error = channel_error(KafkaException(KafkaError(code)), "t", "k:1")
    assert isinstance(error, ClusterError)
    assert message in str(error)
    assert help in error.help
