"""`flow topics apply` on a real cluster: topics become as the blueprint sets them, and never by another command."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.runner.deployment import store_descriptor
from streamlets.runner.topics import make_topics
from tests.streamlets.channels.topics import READING, append, batch

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from streamlets.runner.run import RunOptions
    from tests.cli.conftest import Flow

pytestmark = pytest.mark.spark  # the broker needs Java

MODULE = """
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}


class Source(SparkStreamlet):
    first = AvroOutlet(schema=SCHEMA)
    second = AvroOutlet(schema=SCHEMA)

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            raise AssertionError("nothing runs")
"""


class Application:
    """An application of one streamlet, whose blueprint can be written again with other settings of its topics."""

    def __init__(self, directory: Path, servers: str, flow: Flow) -> None:
        self.directory = directory
        self.servers = servers
        self.flow = flow
        self.suffix = uuid.uuid4().hex[:8]
        (directory / "sourcing.py").write_text(MODULE)

    def name(self, id: str) -> str:
        return f"{id}-{self.suffix}"

    def write(self, first: str = "", second: str | None = "") -> None:
        """Write the blueprint with settings of the two topics; None gives the second one another name."""
        topics = "\n".join(
            f"{id} {{ producers = [source.{outlet}], topic.name = {self.name(id)}, {settings or ''} }}"
            for outlet, id, settings in (
                ("first", "first", first), ("second", "second" if second is not None else "other", second),
            )
        )  # fmt: skip
        (self.directory / "blueprint.conf").write_text(
            f"""
            flow {{ channel = kafka, kafka.clusters.default.bootstrap.servers = "{self.servers}" }}
            blueprint {{ streamlets.source = sourcing.Source, topics {{ {topics} }} }}
            """
        )

    def apply(self, *options: str) -> Any:
        return self.flow("topics", "apply", str(self.directory), *options)

    def topic(self, id: str) -> Any:
        """Return the topic as the application knows it."""
        plan = TopicPlan(id, self.name(id), "kafka", True, (), (), {"bootstrap.servers": self.servers})
        return KafkaChannel(self.directory / "state" / "topics").topic(plan)

    def partitions(self, id: str) -> int:
        return int(self.topic(id).cluster.existing(self.name(id)).partitions)


@pytest.fixture
def application(tmp_path: Path, kafka_broker: str, flow: Flow) -> Application:
    (tmp_path / "app").mkdir()
    return Application(tmp_path / "app", kafka_broker, flow)


def _wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_missing_topics_are_created_and_others_altered(application: Application) -> None:
    """A dry run changes nothing; what cannot be undone needs a confirmation; then nothing differs."""
    application.write("topic.partitions = 2", "topic.retention.ms = 3600000")
    dry = application.apply("--dry-run")
    assert dry.code == 1, dry.err
    assert not application.topic("first").exists()
    assert f"{application.name('first')}: does not exist" in dry.out
    created = application.apply()
    assert created.code == 0, created.err
    assert f"{application.name('second')}: created" in created.out
    assert application.partitions("first") == 2
    same = application.apply("--dry-run")
    assert (same.code, same.out) == (0, "app: all topics are as the blueprint sets them\n")

    application.write("topic.partitions = 3", "topic.retention.ms = 7200000")
    asked = application.apply()
    assert asked.code == 2 and "add --yes" in asked.err and application.name("first") in asked.err
    assert application.name("second") not in asked.err.partition("add --yes")[2]  # a longer retention deletes nothing
    assert application.partitions("first") == 2
    altered = application.apply("--yes")
    assert altered.code == 0
    _wait_until(lambda: application.partitions("first") == 3)  # the broker learns of it shortly after
    second = application.topic("second")
    _wait_until(lambda: bool(second.cluster.settings(second.name)["retention.ms"] == "7200000"))


def test_what_cannot_be_altered_remains(application: Application) -> None:
    """The exit code reports it, with what to do; the settings that can be altered are."""
    application.write("topic.partitions = 2")
    assert application.apply().code == 0
    application.write("topic { partitions = 1, retention.ms = 999999999 }")
    result = application.apply("--format", "json")
    assert result.code == 1
    (entry,) = json.loads(result.out)["topics"]
    assert (entry["action"], entry["done"], entry["topic"]) == ("alter", True, application.name("first"))
    assert {each["setting"]: each["alterable"] for each in entry["differences"]} == {
        "topic.partitions": False,
        "topic.retention.ms": True,
    }
    first = application.topic("first")
    _wait_until(lambda: bool(first.cluster.settings(first.name)["retention.ms"] == "999999999"))


def test_external_topics_are_only_checked(application: Application) -> None:
    """A missing one is an error, and one that exists is as it is, also if its cluster has a layout for new topics."""
    layout = "flow.kafka.clusters.default.topic.partitions=3"
    application.write("managed = no")
    missing = application.apply("--yes", layout)
    assert missing.code == 1 and f"the topic `{application.name('first')}` does not exist" in missing.err
    first = application.topic("first")
    first.cluster.create(first.name, 1, 1, {})
    assert application.apply("--yes", layout).code == 0
    assert (application.partitions("first"), application.partitions("second")) == (1, 3)


def test_unused_topics_are_deleted_only_on_request(application: Application) -> None:
    """Without the option they stay; with it they are deleted with their records, after a confirmation."""
    application.write()
    assert application.apply().code == 0
    append(application.topic("second"), [batch([1, 2])], READING, 0)
    application.write(second=None)
    kept = application.apply("--yes")
    assert kept.code == 0
    assert f"{application.name('second')}: no longer in the blueprint, with 2 records" in kept.out
    assert application.topic("second").exists()
    asked = application.apply("--delete-unused")
    assert asked.code == 2 and application.name("second") in asked.err
    deleted = application.apply("--delete-unused", "--yes")
    assert deleted.code == 0 and f"{application.name('second')}: deleted" in deleted.out
    _wait_until(lambda: not application.topic("second").exists())
    assert "no longer" not in application.apply().out
    elsewhere = KafkaChannel(application.directory / "elsewhere").topic(application.topic("second").plan)
    assert not elsewhere.state.schemas.of(application.name("second"))


def test_a_topic_of_another_owner_is_not_deleted(application: Application) -> None:
    """A topic that was deleted and created again is not the one that the application created."""
    application.write()
    assert application.apply().code == 0
    second = application.topic("second")
    second.cluster.delete(second.name)
    while not second.cluster.create(second.name, 1, -1, {}):
        pass  # the broker deletes the topic after its answer
    application.write(second=None)
    result = application.apply("--delete-unused", "--yes")
    assert result.code == 1 and "was deleted and created again" in result.err
    assert second.exists()


def test_a_list_compares_topics_with_the_blueprint(application: Application) -> None:
    """`flow topics` prints what differs, also as data."""
    application.write()
    assert application.apply().code == 0
    state = application.directory / ".flow" / "app"
    (state / "lock").touch()
    topics = {id: {"name": application.name(id), "channel": "kafka"} for id in ("first", "second")}
    (state / "descriptor.json").write_text(json.dumps({"topics": topics}))
    application.write("topic.partitions = 2")
    result = application.flow("topics", str(application.directory))
    assert result.code == 0
    expected = "`topic.partitions` is `1`, and the blueprint sets `2`; `flow topics apply` alters the topic"
    assert f"the topic {application.name('first')} differs from the blueprint: {expected}" in result.out
    data = json.loads(application.flow("topics", str(application.directory), "--format", "json").out)
    entries = {entry["name"]: entry["differences"] for entry in data["app"]}
    assert [each["setting"] for each in entries[application.name("first")]] == ["topic.partitions"]
    assert entries[application.name("second")] == []


def test_on_delta_there_is_nothing_to_alter(application: Application) -> None:
    """Topics that are directories are created, and never differ."""
    application.write("topic.partitions = 5")
    assert application.apply("flow.channel=delta").code == 0
    result = application.apply("flow.channel=delta", "--dry-run")
    assert (result.code, result.out) == (0, "app: all topics are as the blueprint sets them\n")


def test_a_fresh_start_keeps_the_topics_and_says_what_to_do(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its note names them. The command of the note deletes their records, and then there is nothing to read again."""

    def fresh(plan: ApplicationPlan, options: RunOptions, *_: object) -> tuple[int, None]:
        with options.state.locked():
            assert options.fresh
            options.state.clear()
            make_topics(plan, options.state)
            store_descriptor(options.state, plan)
        return 0, None

    monkeypatch.setattr("streamlets.runner.run.run", fresh)
    application.write()
    assert application.apply("--yes").code == 0
    first, second = application.topic("first"), application.name("second")
    append(first, [batch([1, 2])], READING, 0)
    for records in (2, 0):
        run = application.flow("run", str(application.directory), "--fresh", "--yes")
        assert run.code == 0
        assert f"note: --fresh keeps the records of topics that servers store: `{first.name}`, `{second}`" in run.err
        command = next(part for part in run.err.split("`") if part.startswith("flow ")).removeprefix("flow ")
        assert application.topic("first").summary().records == records
        purge = command.replace("NAME", first.name).split()
        assert application.flow(*purge, str(application.directory), "--yes").code == 0
    assert application.topic("first").summary().records == 0
