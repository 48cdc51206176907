"""Topics of exactly-once outlets with everything else that reads and writes topics: aborted transactions and the marks
of transactions are in them, and are not records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from blueprint.plan import OutletPlan
from streamlets.channels.copying import copy_topic
from streamlets.channels.kafka import exactly_once, transactions
from streamlets.runner.dead_letters.letters import letters_in
from streamlets.runner.dead_letters.replay import Outlets, Replayed, replay
from streamlets.testkit.channels import QueryBench
from streamlets.testkit.channels.queries import COLOURED
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import READING, add, append, batch, contract, ids_of, inlet, outlet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ONCE = {"guarantee": "exactly-once"}
PATIENT = 60.0


@pytest.fixture
def bench(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> QueryBench:
    """Return the Kafka channel with a new session."""
    return QueryBench(kafka_bench(request, tmp_path), own_session)


def once_interrupted(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a query whose first transaction ends before its commit, and run it again."""
    left = ["after-share-sent"]

    def crash_point(name: str, *, run: bool = False) -> None:
        if name in left:
            left.remove(name)
            raise RuntimeError("interrupted")

    monkeypatch.setattr(transactions, "crash_point", crash_point)
    with pytest.raises(Exception, match="interrupted"):
        run()
    assert not left
    run()


def test_commands_read_what_is_committed(bench: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts, the last records and copies have each record once, in the order of the topic, and a copy continues."""
    source, target = bench.topic("out"), bench.topic("copy")

    def write() -> None:
        bench.run(bench.write(bench.read(inlet("in")), outlet("out", options=ONCE)))

    def copy() -> int:
        return copy_topic(source, target, contract=None, partition_by=lambda _: ()).copied

    add(bench.topic("in"), 0, range(10))
    once_interrupted(write, monkeypatch)
    assert source.summary().records == 10
    assert ids_of(source.last(3)) == [7, 8, 9]
    assert copy() == 10
    add(bench.topic("in"), 1, range(10, 20))
    write()
    assert ids_of(source.last(12)) == list(range(8, 20))
    assert copy() == 10
    assert ids_of(target.scan()) == list(range(20))


def test_replicas_send_each_record_once(bench: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batches of two tasks that read three partitions are sent by two tasks, in transactions of their own."""
    monkeypatch.setattr(exactly_once, "_SMALL_MESSAGES", 5)
    wide = bench.channels.topic("in", READING, options={"topic.partitions": 3})
    for number, replicas in enumerate((2, 1, 3)):
        append(wide, [batch(range(replicas * 100, replicas * 100 + 60))], READING, number, partition_by=("id",))
        rows = wide.read(bench.session, inlet("in"), name="in_", replicas=replicas)
        query = bench.run(bench.write(rows, outlet("out", options=ONCE)))
        assert query.exception() is None
    expected = [replicas * 100 + number for replicas in (1, 2, 3) for number in range(60)]
    assert sorted(ids_of(bench.topic("out").scan())) == expected


def test_dead_letters_are_replayed_to_the_topic(bench: QueryBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay is another writer with transactions of its own: the query and the replay do not fence each other."""
    colour = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE", "GREEN"]}
    wider = contract(("id", "long"), ("colour", colour), name="Coloured")
    to = outlet("out", COLOURED, on_invalid="dead-letters", options=ONCE)

    def write() -> None:
        rows = bench.read(inlet("in")).selectExpr("id", "IF(id % 2 = 0, 'GREEN', 'RED') AS colour")
        bench.run(bench.write(rows, to, dead_letters="dead"))

    add(bench.topic("in"), 0, range(10))
    once_interrupted(write, monkeypatch)
    dead, out = bench.topic("dead"), bench.topic("out")
    assert len(list(letters_in(dead))) == 5
    back = OutletPlan("writer", "out", None, wider, "out")
    outlets = Outlets({"writer.out": back}, {"out": out}.__getitem__, lambda _: "out")
    for number, records in enumerate(({"writer.out": 5}, {})):
        assert replay(dead, outlets, lambda _: True) == Replayed(records)
        add(bench.topic("in"), 1 + number, [101 + 2 * number])
        write()
    add(bench.topic("in"), 3, [100])
    write()
    assert sorted(ids_of(out.scan(wider))) == [*range(10), 101, 103]
    assert len(list(letters_in(dead))) == 6


JOB = """CREATE STREAM numbers (n int) FROM csv OPTIONS ('path' = 'in');
SAVE STREAM numbers TO kafka IDENTIFIED BY sent
OPTIONS ('kafka.bootstrap.servers' = '{servers}', topic = '{topic}', key = 'n', guarantee = 'exactly-once');
"""


def test_statements_save_exactly_once(kafka_broker: str, tmp_path: Path) -> None:
    """A job whose run was killed in a transaction, and before Spark's commit, sends each message once."""
    topic = f"saved-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    admin.create_topics([NewTopic(topic, 2)])[topic].result()
    (tmp_path / "in").mkdir()
    (tmp_path / "save.sql").write_text(JOB.format(servers=kafka_broker, topic=topic))
    command = [sys.executable, "-m", "cli.main", "run", "save.sql", "--available-now"]
    for number, point in enumerate(("after-share-sent", "before-spark-commit", "")):
        (tmp_path / "in" / f"{number}.csv").write_text("".join(f"{number * 10 + n}\n" for n in range(10)))
        environment = {**os.environ, **({"STREAMLETS_CRASH_AT": point} if point else {})}
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (ended.returncode == 0) == (not point), ended.stderr
    values = [json.loads(value)["n"] for value in committed(kafka_broker, topic)]
    assert sorted(values) == list(range(30))


def committed(servers: str, topic: str) -> list[bytes]:
    """Return the values of a topic's messages as a plain consumer that reads committed messages gets them."""
    settings: dict[str, Any] = {
        "bootstrap.servers": servers, "group.id": "plain", "isolation.level": "read_committed",
        "enable.partition.eof": True, "enable.auto.commit": False,
    }  # fmt: skip
    consumer, values, ended = Consumer(settings), [], set[int]()
    partitions = consumer.list_topics(topic, PATIENT).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    while len(ended) < len(partitions):
        message = consumer.poll(PATIENT)
        assert message is not None
        if message.error() is not None:
            ended.add(message.partition())
        else:
            values.append(message.value())
    consumer.close()
    return values
