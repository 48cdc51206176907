"""What applications take in a cluster that they share."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.cluster_errors import ClusterError
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.channels.kafka.internal_names import ForeignTopicError, claim, is_writer, placed
from streamlets.channels.kafka.remembered import remember
from tests.streamlets.channels.topics import READING, batch

DEAD_LETTERS, TASKS = "dead-letters.orders", "tasks.orders"


def plan_of(id: str, name: str = "", **options: object) -> TopicPlan:
    """Return the plan of a topic, by default without a name in the blueprint."""
    return TopicPlan(id, name or id, "kafka", True, (), (), {}, options)


@pytest.mark.parametrize("id", [DEAD_LETTERS, TASKS])
def test_names_begin_with_the_application(id: str, tmp_path: Path) -> None:
    """Or with a prefix from the settings; names of the blueprint are as they are."""
    assert placed(plan_of(id), "shop", tmp_path).name == f"shop.{id}"
    assert placed(plan_of(id), "my shop", tmp_path).name == f"my-shop.{id}"
    assert placed(plan_of(id, **{"topic-prefix": "team-a."}), "shop", tmp_path).name == f"team-a.{id}"
    assert placed(plan_of(id, "letters"), "shop", tmp_path).name == "letters"
    assert placed(plan_of("orders"), "shop", tmp_path).name == "orders"


def test_an_application_continues_with_the_name_of_earlier_versions(tmp_path: Path) -> None:
    """Letters, tasks and the positions in them are in the topic without a prefix."""
    remember(plan_of(DEAD_LETTERS), tmp_path / DEAD_LETTERS)
    assert placed(plan_of(DEAD_LETTERS), "shop", tmp_path).name == DEAD_LETTERS
    assert placed(plan_of(TASKS), "shop", tmp_path).name == f"shop.{TASKS}"


def test_commands_find_a_name_with_a_prefix_without_the_blueprint(tmp_path: Path) -> None:
    """The state directory knows it."""
    remember(plan_of(DEAD_LETTERS), tmp_path / f"team-a.{DEAD_LETTERS}")
    assert placed(plan_of(DEAD_LETTERS), "shop", tmp_path).name == f"team-a.{DEAD_LETTERS}"


class Application:
    """An application in a cluster.

    Arguments:
        directory: the parent of the state directories.
        name: its name.
        servers: the servers of the cluster.
    """

    def __init__(self, directory: Path, name: str, servers: str) -> None:
        self._servers = servers
        self.channel = KafkaChannel(directory / name / "topics")

    def topic(self, id: str, name: str = "") -> TopicResource:
        """Return a topic."""
        return self.channel.topic(
            TopicPlan(id, name or id, "kafka", True, (), (), {"bootstrap.servers": self._servers})
        )


@pytest.mark.spark
def test_an_internal_topic_of_another_application_is_refused(kafka_broker: str, tmp_path: Path) -> None:
    """Neither can write to it, or read what the other has there, if both are given one topic."""
    streamlet, shared = uuid.uuid4().hex, uuid.uuid4().hex
    id = f"dead-letters.{streamlet}"
    shop, depot = (Application(tmp_path, name, kafka_broker) for name in ("shop", "depot"))
    for application in (shop, depot):
        application.topic(id).create([dead_letter_contract()])
    assert shop.topic(id).plan.name == f"shop.{id}"
    assert depot.topic(id).plan.name == f"depot.{id}"
    # Both have the topic of an earlier version, which names nobody.
    for name in ("shop", "depot"):
        remember(plan_of(f"dead-letters.{shared}"), tmp_path / name / "topics/_kafka/topics" / f"dead-letters.{shared}")
    old = shop.topic(f"dead-letters.{shared}")
    assert old.plan.name == f"dead-letters.{shared}"
    old.create([dead_letter_contract()])
    with pytest.raises(ForeignTopicError, match=r"has records of the application `shop` for itself; let `depot` use"):
        depot.topic(f"dead-letters.{shared}").create([dead_letter_contract()])
    with pytest.raises(ForeignTopicError):
        next(depot.topic(f"dead-letters.{shared}").scan(), None)
    shop.topic(f"dead-letters.{shared}").create([dead_letter_contract()])  # the next run of it


class Log:
    """A cluster with a compacted topic in memory.

    Arguments:
        hidden: how many reads do not see the last message, because another writer's transaction is open.
    """

    def __init__(self, hidden: int = 0) -> None:
        self.messages_sent: list[tuple[bytes, bytes | None]] = []
        self.hidden = hidden
        self.before_send: list[Callable[[], object]] = []
        self.after_send: list[Callable[[], object]] = []

    def create(self, *_: object) -> None:
        """Do nothing."""

    def send(self, topic: str, messages: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Add messages, and do once what happens before and after that."""
        while self.before_send:
            self.before_send.pop()()
        self.messages_sent += messages
        while self.after_send:
            self.after_send.pop()()

    def latest(self, topic: str) -> dict[int, int]:
        """Return the end that is visible."""
        self.hidden -= 1
        return {0: len(self.messages_sent) - (self.hidden >= 0)}

    def messages(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Any]:
        """Yield the messages of a range."""
        for offset in range(*ranges[0]):
            key, value = self.messages_sent[offset]
            yield SimpleNamespace(key=lambda key=key: key, value=lambda value=value: value, offset=lambda at=offset: at)


def claimed(log: Log, application: str) -> str:
    """Claim the topic `t` for an application; return "" or the error."""
    cluster: Any = log
    try:
        claim(CompactedTable(cluster, "_writers"), "t", application)
    except ForeignTopicError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("winner", ["shop", "depot"])
def test_of_two_applications_that_claim_at_once_the_first_in_the_log_has_the_topic(winner: str) -> None:
    """Neither has seen a claim before its own. The other one is refused, and its claim does not stay."""
    log, outcome = Log(), dict[str, str]()
    moment = log.before_send if winner == "depot" else log.after_send
    moment.append(lambda: outcome.update(depot=claimed(log, "depot")))
    outcome["shop"] = claimed(log, "shop")
    (loser,) = set(outcome) - {winner}
    assert outcome[winner] == "" and f"the application `{winner}` for itself; let `{loser}`" in outcome[loser]
    assert [claimed(log, name) == "" for name in (winner, loser)] == [True, False]
    assert {key for key, value in log.messages_sent if value is None} <= {f"t/!application={loser}".encode()}


def test_a_claim_counts_although_its_application_was_killed_before_it_read_it_back() -> None:
    """The application goes on with its next start; a claim that came second is removed then."""
    log = Log()
    claims = [(f"t/!application={name}".encode(), json.dumps({"application": name}).encode()) for name in "ab"]
    log.send("", claims)
    assert [claimed(log, name) == "" for name in "aba"] == [True, False, True]
    assert log.messages_sent[2:] == [(b"t/!application=b", None)]


def test_a_claim_of_an_earlier_version_counts() -> None:
    """It had one key for all applications."""
    log = Log()
    log.send("", [(b"t/!application", b'{"application": "shop"}')])
    assert [claimed(log, name) == "" for name in ("depot", "shop")] == [False, True]
    assert len(log.messages_sent) == 1


def test_a_claim_behind_an_open_transaction_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application does not take the topic before it can see whether it was the first."""
    monkeypatch.setattr("streamlets.channels.kafka.compacted._POLL", 0)
    log = Log(hidden=4)
    assert claimed(log, "shop") == "" and log.hidden < 0
    log = Log(hidden=10**9)
    monkeypatch.setattr("streamlets.channels.kafka.compacted._LONGEST_TRANSACTION", -1)
    with pytest.raises(ClusterError, match="open transaction"):
        claimed(log, "shop")


def test_a_claim_is_not_a_writer() -> None:
    """Marks of transactions are only in topics that a writer has an entry for."""
    keys = ("t/spout", "t/!application", "t/!application=shop", "u/spout")
    assert [is_writer(key, "t") for key in keys] == [True, False, False, False]


@pytest.mark.spark
@pytest.mark.parametrize("first", ["shop", "depot"])
def test_two_applications_that_start_at_once(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """`depot` starts when `shop` has found no claim: before `shop` writes its own, or right after that."""
    id, put, errors = f"dead-letters.{uuid.uuid4().hex}", CompactedTable.put, dict[str, str]()
    for name in ("shop", "depot"):
        remember(plan_of(id), tmp_path / name / "topics/_kafka/topics" / id)

    def start(name: str) -> None:
        try:
            Application(tmp_path, name, kafka_broker).topic(id).create([dead_letter_contract()])
        except ForeignTopicError as error:
            errors[name] = str(error)

    def interleaved(table: CompactedTable, key: str, value: bytes) -> None:
        monkeypatch.setattr(CompactedTable, "put", put)
        for name in ("depot", "shop") if first == "depot" else ("shop", "depot"):
            if name == "depot":
                start(name)
            else:
                table.put(key, value)

    monkeypatch.setattr(CompactedTable, "put", interleaved)
    start("shop")
    (refused,) = {"shop", "depot"} - {first}
    assert list(errors) == [refused] and f"of the application `{first}` for itself" in errors[refused]
    start(first)
    assert list(errors) == [refused]


@pytest.mark.spark
def test_writers_of_two_applications_do_not_fence_each_other(kafka_broker: str, tmp_path: Path) -> None:
    """Spouts with the same name in two applications write all their records to a topic that both have."""
    id = uuid.uuid4().hex
    for number, name in enumerate(("shop", "depot")):
        topic = Application(tmp_path, name, kafka_broker).topic(id)
        topic.create([READING])
        with topic.appender(READING, writer="spout-orders", epoch=2 - number) as appender:
            assert appender.append([batch([number])], 0)
    assert sorted(row["id"] for rows in topic.scan() for row in rows.to_pylist()) == [0, 1]


@pytest.mark.spark
def test_writers_of_an_earlier_version_keep_their_names(kafka_broker: str, tmp_path: Path) -> None:
    """What a writer has appended is known under its name."""
    id = uuid.uuid4().hex
    topic = Application(tmp_path, "shop", kafka_broker).topic(id)
    topic.create([READING])
    identity = tmp_path / "shop/topics/_kafka/topics" / id / "topic.json"
    content = json.loads(identity.read_text())
    assert content.pop("application") == "shop"
    identity.write_text(json.dumps(content))
    with topic.appender(READING, writer="w") as appender:
        appender.append([batch([1])], 0)
    assert f"{id}/w" in topic.state.writers.refreshed()  # type: ignore[attr-defined]
