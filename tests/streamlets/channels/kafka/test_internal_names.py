"""What applications take in a cluster that they share."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.internal_names import ForeignTopicError, placed
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
