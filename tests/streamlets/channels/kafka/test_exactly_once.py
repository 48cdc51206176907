"""Outlets with `guarantee = exactly-once`: a plain reader of committed messages sees each record once."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from streamlets.channels.base import Position
from streamlets.channels.kafka import batch as batch_module
from streamlets.channels.kafka import exactly_once, staging, transactions
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.spark.failure import failure_of_text
from streamlets.testkit.channels import QueryBench
from streamlets.testkit.channels.queries import COLOURED
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import add, contract, ids_of, inlet, outlet

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

POINTS = (
    "after-staging", "after-shared-out", "after-share-sent", "after-share-commit", "after-topic-commit",
    "before-spark-commit",
)  # fmt: skip
ONCE = {"guarantee": "exactly-once"}
LABELLED = contract(("id", "long"), ("label", "string"), name="Labelled")


class CrashError(Exception):
    """An interruption at a crash point."""


@pytest.fixture
def bench(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> QueryBench:
    """Return the Kafka channel with a new session."""
    return QueryBench(kafka_bench(request, tmp_path), own_session)


def committed(bench: QueryBench, topic: str) -> list[Any]:
    """Return the messages of a topic as a plain consumer that reads committed messages gets them."""
    stored = bench.topic(topic)
    assert isinstance(stored, KafkaTopic)
    settings = {
        "bootstrap.servers": stored.cluster.name, "group.id": "plain", "isolation.level": "read_committed",
        "enable.partition.eof": True, "auto.offset.reset": "earliest", "enable.auto.commit": False,
    }  # fmt: skip
    consumer, messages = Consumer(settings), []
    partitions = stored.cluster.existing(stored.name).partitions
    consumer.assign([TopicPartition(stored.name, number, 0) for number in range(partitions)])
    ended = 0
    while ended < partitions:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            ended += 1
        else:
            messages.append(message)
    consumer.close()
    return messages


def ids(bench: QueryBench, topic: str = "out") -> list[int]:
    """Return the ids of the records that readers see, sorted."""
    return sorted(row["id"] for batch in bench.topic(topic).scan() for row in batch.to_pylist())


def labelled(bench: QueryBench) -> Any:
    """Return the records with a label that differs at each attempt."""
    from pyspark.sql import functions as F

    return bench.read(inlet("in")).select("id", F.expr("uuid()").alias("label"))


def interrupt_at(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt a batch the first time that it reaches a crash point in the driver."""
    left = [point]

    def crash_point(name: str, *, run: bool = False) -> None:
        if name in left:
            left.remove(name)
            raise CrashError(name)

    for module in (batch_module, exactly_once, staging, transactions):
        monkeypatch.setattr(module, "crash_point", crash_point)


def test_an_interrupted_batch_is_completed(bench: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption at each point a replay sends only what was not committed, although the labels of its rows
    differ, and the next batch follows. What was stored is removed."""
    to = outlet("out", LABELLED, options=ONCE)
    for number, point in enumerate(POINTS):
        add(bench.topic("in"), number, range(number * 10, number * 10 + 10))
        interrupt_at(point, monkeypatch)
        with pytest.raises(Exception, match=point):
            bench.run(bench.write(labelled(bench), to))
        bench.run(bench.write(labelled(bench), to))
    assert ids(bench) == list(range(60))
    assert len(committed(bench, "out")) == 60
    assert [batch.rows["out"] for batch in bench.batches] == [10] * len(bench.batches)
    assert len(list((bench.root / "topics" / "_kafka" / "staged").glob("*/*"))) == 1


def test_executors_send_large_batches(bench: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task has transactions of its own; a task that was committed is not sent again."""
    monkeypatch.setattr(exactly_once, "_SMALL_MESSAGES", 5)
    add(bench.topic("in"), 0, range(1000))
    to = outlet("out", LABELLED, options=ONCE)
    interrupt_at("after-topic-commit", monkeypatch)
    with pytest.raises(Exception, match="after-topic-commit"):
        bench.run(bench.write(labelled(bench).repartition(4), to))
    bench.run(bench.write(labelled(bench).repartition(4), to))
    assert ids(bench) == list(range(1000))


def coloured(bench: QueryBench) -> Any:
    """Return the records with a colour, which breaks the contract of some, other ones at each attempt."""
    from pyspark.sql import functions as F

    return bench.read(inlet("in")).select("id", F.when(F.rand() < 0.4, "GREEN").otherwise("RED").alias("colour"))


@pytest.mark.parametrize("staged", [False, True], ids=["plain", "with headers"])
def test_dead_letters_are_in_the_same_transaction(
    bench: QueryBench, staged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interruption each row is in the topic or in the dead letters, once, and is counted there. With
    `staged` messages have headers, too, for inlets that recognize doubles of other outlets by them."""
    add(bench.topic("in"), 0, range(200))
    to = outlet("out", COLOURED, on_invalid="dead-letters", options={**ONCE, "staged": staged})
    interrupt_at("after-topic-commit", monkeypatch)
    with pytest.raises(Exception, match="after-topic-commit"):
        bench.run(bench.write(coloured(bench), to, dead_letters="dead"))
    bench.run(bench.write(coloured(bench), to, dead_letters="dead"))
    good, dead = committed(bench, "out"), committed(bench, "dead")
    assert len(good) + len(dead) == 200
    assert good
    assert dead
    assert [(batch.rows["out"], batch.dead_letters) for batch in bench.batches] == [(len(good), len(dead))]
    assert {len(message.headers() or ()) for message in [*good, *dead]} == {3 if staged else 0}


def test_outlets_of_a_query_have_guarantees_of_their_own(bench: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has transactions of its own; one that is at-least-once may have doubles."""
    add(bench.topic("in"), 0, range(10))

    def write() -> None:
        rows = bench.read(inlet("in"))
        outlets = [(outlet(name, name=name, options=options), lambda frame: frame) for name, options in guarantees]
        bench.run(bench.write(rows, *outlets))

    guarantees = [("first", ONCE), ("second", ONCE), ("third", {"staged": True}), ("fourth", {})]
    interrupt_at("before-spark-commit", monkeypatch)
    with pytest.raises(Exception, match="before-spark-commit"):
        write()
    write()
    once = list(range(10))
    assert [ids(bench, name) for name, _ in guarantees] == [once, once, sorted(once * 2), sorted(once * 2)]


@pytest.mark.parametrize("later", [{}, {"staged": True}], ids=str)
@pytest.mark.parametrize("point", ["after-shared-out", pytest.param("before-spark-commit", marks=pytest.mark.full)])
def test_a_batch_is_finished_with_the_guarantee_that_it_was_begun_with(
    bench: QueryBench, later: dict[str, object], point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the setting of an outlet changes while a batch is not committed, it is sent once; the next one is written with
    the new guarantee, and so is one after a change back."""
    add(bench.topic("in"), 0, range(10))
    interrupt_at(point, monkeypatch)
    with pytest.raises(Exception, match=point):
        bench.run(bench.write(labelled(bench), outlet("out", LABELLED, options=ONCE)))
    for number, options in enumerate((later, ONCE, later), 1):
        bench.run(bench.write(labelled(bench), outlet("out", LABELLED, options=options)))
        add(bench.topic("in"), number, range(number * 10, number * 10 + 10))
    bench.run(bench.write(labelled(bench), outlet("out", LABELLED, options=ONCE)))
    assert ids(bench) == list(range(40))


def test_a_staged_batch_keeps_its_headers_when_transactions_are_chosen(
    bench: QueryBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been sent in part, and inlets recognize the doubles by these headers."""
    add(bench.topic("in"), 0, range(10))
    interrupt_at("before-spark-commit", monkeypatch)
    for options in ({"staged": True}, {**ONCE, "staged": True}):
        with suppress(Exception):
            bench.run(bench.write(labelled(bench), outlet("out", LABELLED, options=options)))
    messages = committed(bench, "out")
    assert len(messages) == 20
    assert len({str(message.headers()) for message in messages}) == 10


def test_an_older_copy_of_the_state_is_refused(bench: QueryBench) -> None:
    """Records under the number of a batch that the topic has would be dropped: the query fails for good, and nothing is
    sent. What is stored of batches says so before the query starts, unless it is an old copy, too."""
    to = outlet("out", LABELLED, options=ONCE)
    for number in range(3):
        add(bench.topic("in"), number, range(number * 10, number * 10 + 10))
        bench.run(bench.write(labelled(bench), to))
        if number == 0:
            shutil.copytree(bench.checkpoint(), bench.root / "copy")
    shutil.rmtree(bench.checkpoint())
    shutil.copytree(bench.root / "copy", bench.checkpoint())
    id = json.loads((bench.checkpoint() / "metadata").read_text())["id"]
    assert [bench.channels.open().has_decided("writer", "q", id, batch) for batch in range(4)] == [True] * 3 + [False]
    bench.channel.forget("writer", "q", id)
    with pytest.raises(Exception, match=r"BatchMismatchError: .*`writer\.q`.* batch 1 .* which has batch 2") as raised:
        bench.run(bench.write(labelled(bench), to))
    assert "checkpoint" in failure_of_text(str(raised.value), building=False).fatal
    assert ids(bench) == list(range(30))


def test_a_new_checkpoint_is_another_writer(bench: QueryBench) -> None:
    """It numbers its batches from 0 again, and sends everything again. A batch without records sends nothing."""
    add(bench.topic("in"), 0, range(5))
    for _ in range(2):
        bench.run(bench.write(labelled(bench).where("id < 100"), outlet("out", LABELLED, options=ONCE)))
        shutil.rmtree(bench.checkpoint())
    bench.run(bench.write(labelled(bench).where("id > 100"), outlet("out", LABELLED, options=ONCE)))
    assert ids(bench) == sorted([*range(5)] * 2)
    assert bench.topic("out").lag(None, reader="r").records == 10


def test_a_chain_ends_where_its_topics_end(bench: QueryBench) -> None:
    """Marks of transactions are not records: a bounded run of a reader ends, and no backlog remains."""
    for number in range(2):
        add(bench.topic("in"), number, range(number * 10, number * 10 + 10))
        bench.run(bench.write(labelled(bench), outlet("middle", LABELLED, options=ONCE)))
        query = bench.run(
            bench.write(bench.read(inlet("middle", LABELLED)), outlet("out", LABELLED, options=ONCE), query="reader")
        )
    assert ids(bench) == list(range(20))
    end = Position(json.dumps(json.loads(query.lastProgress["sources"][0]["endOffset"])))
    assert bench.topic("middle").lag(end, reader="r").records == 0
    assert bench.topic("middle").summary().records == 20
    assert len(ids_of(bench.topic("middle").last(15))) == 15
