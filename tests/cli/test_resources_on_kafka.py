"""`flow run --resources` with topics of a real cluster, in applications that need no Spark."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.topic import KafkaTopic
from tests.cli.conftest import Flow
from tests.cli.test_resources import Application, kill_at

pytestmark = pytest.mark.spark  # the broker needs Java


class KafkaApplication(Application):
    """The application of `test_resources`, on Kafka and with names that no other test uses."""

    def __init__(self, directory: Path, flow: Flow, servers: str) -> None:
        self.suffix, self.servers = uuid.uuid4().hex[:8], servers
        super().__init__(directory, flow, f"shop-{self.suffix}")
        (directory / "more.conf").write_text(
            f"""
            include "blueprint.conf"
            flow {{ channel = kafka, kafka.clusters.default.bootstrap.servers = "{servers}" }}
            flow.topics {{ numbers.topic.name = {self.name("numbers")}, theirs.topic.name = {self.name("theirs")} }}
            """
        )
        self.blueprint = directory / "more.conf"

    def name(self, id: str) -> str:
        return f"{id}-{self.suffix}"

    def topic(self, name: str) -> KafkaTopic:
        """Return a topic as another application sees it."""
        plan = TopicPlan(name, self.name(name), "kafka", True, (), (), {"bootstrap.servers": self.servers})
        return KafkaChannel(self.directory / uuid.uuid4().hex / "topics").topic(plan)


@pytest.fixture
def application(tmp_path: Path, flow: Flow, kafka_broker: str) -> KafkaApplication:
    return KafkaApplication(tmp_path, flow, kafka_broker)


def test_a_clean_end_deletes_topics_of_the_cluster(application: KafkaApplication) -> None:
    """Another run begins again, although it appends with the same sequences; the external topic stays."""
    for _ in range(2):
        ended = application.run("standard")
        assert ended.code == 0, ended.err + ended.out
        assert f"topic {application.name('numbers')}: deleted" in ended.out
        assert application.numbers() is None
        assert application.numbers("theirs") == [0, 1, 2]
    assert application.run("keep").code == 0
    assert application.numbers() == [0, 1, 2]


@pytest.mark.parametrize("point", ["after-checkpoints-deleted", "during-topic-deletion", "after-topic-deleted"])
def test_a_deletion_in_the_cluster_is_completed(
    application: KafkaApplication, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill between the steps of a topic's deletion, the next run begins again."""
    assert application.run("keep").code == 0
    kill_at(point, application, monkeypatch)
    ended = application.run("keep")
    assert ended.code == 0, ended.err + ended.out
    assert application.numbers() == [0, 1, 2]


def test_a_topic_that_was_there_before_is_not_deleted(application: KafkaApplication) -> None:
    """`standard` and `delete-only` are refused before anything runs or is deleted, with the name of the topic."""
    numbers = application.topic("numbers")
    numbers.cluster.create(numbers.name, 1, -1, {})
    for mode in ("standard", "delete-only"):
        refused = application.run(mode, "--yes")
        assert refused.code == 1
        assert f"does not delete them: `{numbers.name}`" in refused.err
        assert "managed = no" in refused.err
    assert application.numbers() == []
    assert application.run("keep").code == 0
    assert application.run("delete-only", "--yes").code == 1
    assert application.numbers() == [0, 1, 2]
    external = application.run("delete-only", "--yes", "flow.topics.numbers.managed=no")
    assert external.code == 0, external.err
    assert application.numbers() == [0, 1, 2]


def test_a_topic_that_was_deleted_by_other_means_begins_without_writers(application: KafkaApplication) -> None:
    """After `--fresh`, the spout begins again: what the cluster knows of its position is about the deleted topic."""
    assert application.run("keep").code == 0
    numbers = application.topic("numbers")
    numbers.cluster.delete(numbers.name)
    fresh = application.run("keep", "--fresh", "--yes")
    assert fresh.code == 0, fresh.err + fresh.out
    assert application.numbers() == [0, 1, 2]


def test_dead_letters_of_the_cluster_are_kept_and_found(application: KafkaApplication) -> None:
    """They are shown after the deletion of everything else, and another run adds its own."""
    for letters in (1, 2):
        ended = application.run("standard", end="refuse")
        assert ended.code == 0, ended.err + ended.out
        shown = application.flow("dead-letters", "show", "count", str(application.blueprint), "--format", "jsonl")
        assert (shown.code, len(shown.out.splitlines())) == (0, letters), shown.err


def test_create_only_creates_what_applications_share(application: KafkaApplication, kafka_broker: str) -> None:
    """After it, a run needs no right to create topics: those of schemas and writers exist, too."""
    prefix = f"_internal_{application.suffix}"
    setting = f"flow.kafka.internal-prefix={prefix}"
    created = application.run("create-only", setting)
    assert created.code == 0, created.err + created.out
    cluster = application.topic("numbers").cluster
    assert all(cluster.existing(f"{prefix}_{name}").partitions == 1 for name in ("schemas", "writers"))
    with pytest.raises(TopicLostError):
        cluster.existing(f"{prefix}_others")
    skipped = application.run("skip", setting)
    assert skipped.code == 0, skipped.err + skipped.out


def test_the_group_of_a_reader_is_removed(application: KafkaApplication) -> None:
    """Its offsets are deleted with it; a group that does not exist is accepted."""
    topic: Any = application.topic("theirs")
    group = f"shop-{application.suffix}.reader.in"
    topic.committed(group, topic.end())

    def groups() -> set[str]:
        answer = topic.cluster.ask(lambda admin: {"": admin.list_consumer_groups()})[0].result(60)
        return {listed.group_id for listed in answer.valid}

    assert group in groups()
    topic.forget_reader(group)
    assert group not in groups()
    topic.forget_reader(group)
