"""Copies of topics: every record once, with its contract and in order, also if the copy is killed."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlite_channel import SqliteChannelType

from blueprint.avro.model import Contract
from blueprint.plan import TopicPlan
from streamlets.channels import copying
from streamlets.channels.base import TopicLostError, TopicResource
from streamlets.channels.copying import CopyError, Progress, copy_topic
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.records import MessageError
from streamlets.channels.kafka.topic import KafkaTopic
from tests.streamlets.channels.topics import READING, WIDER, append, batch, ids_of


def delta(directory: Path, name: str = "readings") -> TopicResource:
    topic = DeltaChannel(directory).topic(TopicPlan(name, name, "delta", True, (), (), {}))
    topic.create([READING])
    return topic


def kafka(directory: Path, servers: str, partitions: int = 1, tombstones: str = "invalid") -> KafkaTopic:
    name = f"copied-{uuid.uuid4().hex[:8]}"
    options = {"bootstrap.servers": servers, "topic.partitions": partitions, "tombstones": tombstones}
    topic = KafkaChannel(directory).topic(TopicPlan(name, name, "kafka", True, (), (), options))
    topic.create([READING, WIDER])
    return topic


def copied(source: TopicResource, target: TopicResource, **options: Any) -> int:
    return copy_topic(source, target, contract=None, partition_by=lambda _: (), **options).copied


def fill(topic: TopicResource, *commits: tuple[Contract, Iterable[int]]) -> None:
    for number, (contract, ids) in enumerate(commits):
        append(topic, [batch(ids, contract)], contract, number, writer=f"w-{contract.fingerprint}")


def by_contract(topic: TopicResource) -> dict[str, list[int]]:
    """Return the ids of a topic by the fingerprint of their contract, in order."""
    ids: dict[str, list[int]] = {}
    for stretch in topic.stretches(None, topic.end(), None):
        ids.setdefault(stretch.contract.fingerprint, []).extend(stretch.rows.column("id").to_pylist())
    return ids


@pytest.fixture(params=["delta", pytest.param("kafka", marks=pytest.mark.spark)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> TopicResource:
    """Return a topic without records on each channel."""
    if request.param == "delta":
        return delta(tmp_path / "target")
    return kafka(tmp_path / "target", request.getfixturevalue("kafka_broker"), partitions=3)


@pytest.fixture
def small_appends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have copies append few records at once."""
    for module in (copying, sys.modules["streamlets.channels.delta.records"]):
        monkeypatch.setattr(module, "AT_ONCE", 3)
    yield


def test_records_keep_their_contracts_and_their_order(
    target: TopicResource, small_appends: None, tmp_path: Path
) -> None:
    """Also in a topic with several partitions, the records of a writer are in order."""
    source = delta(tmp_path / "source")
    fill(source, (READING, range(5)), (WIDER, range(100, 104)), (READING, range(5, 12)), (WIDER, [104]))
    seen: list[Progress] = []
    assert copied(source, target, report=seen.append) == 17
    expected = {READING.fingerprint: list(range(12)), WIDER.fingerprint: list(range(100, 105))}
    assert by_contract(target) == expected == by_contract(source)
    assert [progress.copied + progress.remaining for progress in seen] == [17] * len(seen)
    assert seen[-1].remaining == 0


def test_a_later_copy_copies_what_is_new(target: TopicResource, tmp_path: Path) -> None:
    """A repeated copy copies nothing, and one after further records copies only these."""
    source = delta(tmp_path / "source")
    fill(source, (READING, range(5)))
    assert (copied(source, target), copied(source, target)) == (5, 0)
    append(source, [batch(range(5, 9))], READING, 7)
    assert copied(source, target) == 4
    assert ids_of(target.scan(READING)) == list(range(9))


def test_a_copy_that_is_interrupted_continues(target: TopicResource, small_appends: None, tmp_path: Path) -> None:
    """An exception after any append loses no record and doubles none."""
    source = delta(tmp_path / "source")
    fill(source, (READING, range(8)), (WIDER, range(100, 105)))

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    calls = 0
    while True:
        try:
            copied(source, target, report=interrupt)
            break
        except KeyboardInterrupt:
            calls += 1
    assert calls == 5
    assert by_contract(target) == {READING.fingerprint: list(range(8)), WIDER.fingerprint: list(range(100, 105))}


def test_a_target_with_other_records_is_refused(target: TopicResource, tmp_path: Path) -> None:
    """Unless they are wanted: then the copy follows them."""
    source = delta(tmp_path / "source")
    fill(source, (READING, [1, 2]))
    append(target, [batch([7])], READING, 0, writer="other")
    with pytest.raises(CopyError, match="has records that are not of this copy"):
        copied(source, target)
    assert copied(source, target, append=True) == 2
    assert sorted(ids_of(target.scan(READING))) == [1, 2, 7]


def test_a_source_that_was_created_again(target: TopicResource, tmp_path: Path) -> None:
    """The position of the earlier copy means nothing there, so the copy fails."""
    fill(delta(tmp_path / "source"), (READING, [1]))
    assert copied(delta(tmp_path / "source"), target) == 1
    (tmp_path / "source").rename(tmp_path / "old")
    fill(delta(tmp_path / "source"), (READING, [1]))
    with pytest.raises(TopicLostError):
        copied(delta(tmp_path / "source"), target)


def test_an_empty_topic(target: TopicResource, tmp_path: Path) -> None:
    """There is nothing to copy."""
    assert copied(delta(tmp_path / "source"), target) == 0


def test_a_channel_that_cannot_copy(tmp_path: Path) -> None:
    """It is named."""
    plan = TopicPlan("t", "t", "sqlite", True, (), (), {})
    with pytest.raises(CopyError, match="topics of the channel `sqlite` cannot be copied"):
        copied(SqliteChannelType().open(tmp_path).topic(plan), delta(tmp_path))


@pytest.mark.spark
def test_from_kafka_and_by_keys(kafka_broker: str, tmp_path: Path) -> None:
    """Records of a partition keep their order on the way back, and records with keys are in the partition of their
    key, as if their writer had sent them."""
    source, other = kafka(tmp_path / "a", kafka_broker, 3), kafka(tmp_path / "b", kafka_broker, 3)
    append(source, [batch([*range(20), *range(20)])], READING, 0, partition_by=("id",))
    target = delta(tmp_path / "target")
    assert copied(source, target) == 40
    assert sorted(ids_of(target.scan())) == sorted([*range(20)] * 2)
    copy_topic(target, other, contract=None, partition_by=lambda _: ("id",))
    places = [
        {(row["id"], row["_meta"]["position"]) for rows in topic.scan(metadata=True) for row in rows.to_pylist()}
        for topic in (source, other)
    ]
    assert places[0] == places[1]


@pytest.mark.spark
def test_tombstones(kafka_broker: str, tmp_path: Path) -> None:
    """They are not records: a copy stops at them, or skips them if the topic says so; then they are not counted or
    shown, either."""
    strict, skipping = (kafka(tmp_path / name, kafka_broker, tombstones=name) for name in ("invalid", "skip"))
    for source in (strict, skipping):
        append(source, [batch([1, 2])], READING, 0)
        source.cluster.send(source.name, [(b"1", None), (b"2", None)])
        append(source, [batch([3])], READING, 1)
    with pytest.raises(MessageError, match="the message has no value"):
        copied(strict, delta(tmp_path / "strict"))
    assert ids_of(delta(tmp_path / "strict").scan()) == [1, 2]
    target = delta(tmp_path / "target")
    assert (copied(skipping, target), copied(skipping, target)) == (3, 0)
    assert ids_of(target.scan()) == ids_of(skipping.scan(READING)) == [1, 2, 3]
    assert ids_of(skipping.last(2)) == [2, 3]
    assert skipping.count(None, skipping.end()) == skipping.lag(None).records == 3
