"""Both clients connect to a cluster with TLS and a login, whichever notation its settings have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.plan import TopicPlan
from cli.application import Application
from cli.main import main
from streamlets.channels.kafka import reachability
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.client_settings import mismatches
from streamlets.channels.kafka.cluster import Connections, connections
from streamlets.channels.kafka.cluster_errors import ClusterError
from streamlets.checks import State
from streamlets.contract.types import arrow_schema
from streamlets.runner.deployment import store_descriptor
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import make_topics
from tests.kafka.secured import LOGIN, quoted, secured_broker
from tests.streamlets.channels.topics import append
from tests.streamlets.runner.checkpoints.test_checkpoint import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
PASSWORD = 'se"cr\\et'
_ADMIN = {"sasl.username": "admin", "sasl.password": "admin"}


@pytest.fixture(scope="module")
def secured(kafka_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Give the servers of a broker with TLS and logins, and the file with the certificate to trust."""
    with secured_broker(tmp_path_factory.mktemp("secured"), PASSWORD) as secured:
        yield secured


def _java(trusted: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="flow" password="{quoted(PASSWORD)}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
    }


def _librdkafka(trusted: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "flow",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(trusted),
    }


def _connections(servers: str, config: dict[str, str]) -> Connections:
    assert not mismatches(config)
    return connections({"bootstrap.servers": servers, "connection-config": config}, {})


@pytest.mark.parametrize("notation", [_java, _librdkafka])
def test_both_clients_connect(notation: Any, secured: tuple[str, Path], spark: SparkSession) -> None:
    """confluent-kafka writes a record, and Spark reads it."""
    servers, trusted = secured
    found, topic = _connections(servers, notation(trusted)), f"secured{notation.__name__}"
    admin = AdminClient(dict(found.admin.librdkafka))
    admin.create_topics([NewTopic(topic, 1)])[topic].result()
    producer = Producer(dict(found.producer.librdkafka))
    producer.produce(topic, b"one")
    assert producer.flush(60) == 0
    options = {f"kafka.{key}": value for key, value in found.consumer.java.items()}
    read = spark.read.format("kafka").options(**options).option("subscribe", topic).load()
    assert [bytes(row.value) for row in read.collect()] == [b"one"]


def test_a_wrong_password(secured: tuple[str, Path]) -> None:
    """The check of the cluster says that the login failed, and does not show the password."""
    servers, trusted = secured
    config = _librdkafka(trusted) | {"sasl.password": "mistaken"}
    topic = TopicPlan("t", "t", "kafka", True, (), (), {"bootstrap.servers": servers, "connection-config": config})
    (check,) = reachability.check_clusters([topic])
    assert check.state is State.ERROR and "Authentication failed" in check.detail
    assert "mistaken" not in check.detail
    assert check.lasting  # so a run ends at once


def test_a_topic_that_the_user_may_not_use(secured: tuple[str, Path], tmp_path: Path) -> None:
    """The error names the topic and the cluster; other topics of the cluster can be used."""
    servers, trusted = secured
    options = {"bootstrap.servers": servers, "connection-config": _librdkafka(trusted)}
    channel = KafkaChannel(tmp_path)
    free, forbidden = (
        channel.topic(TopicPlan(name, name, "kafka", True, (), (), options)) for name in ("free", "forbidden")
    )
    admin = AdminClient({**_librdkafka(trusted), "bootstrap.servers": servers} | _ADMIN)
    rule = AclBinding(
        ResourceType.TOPIC, "forbidden", ResourcePatternType.LITERAL, "User:admin", "*", AclOperation.ALL,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    admin.create_acls([rule])[rule].result()
    free.create([])
    with pytest.raises(ClusterError, match=r"topic `forbidden`: .*uthorization failed") as refused:
        forbidden.create([])
    assert servers in str(refused.value)
    assert PASSWORD not in str(refused.value)


_MODULE = """
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Nothing(SparkStreamletLogic):
    def build_streaming_queries(self):
        return []


class Sensors(SparkStreamlet):
    readings = AvroOutlet("out", schema="id bigint")
    Logic = Nothing


class Average(SparkStreamlet):
    readings = AvroInlet("in", schema="id bigint", on_invalid="dead-letters")
    Logic = Nothing
"""

_BLUEPRINT = """
blueprint {{
  streamlets {{ sensors = {module}.Sensors, average = {module}.Average }}
  topics {{
    readings {{ producers = [sensors.out], consumers = [average.in], topic.name = secret-readings }}
    letters {{ producers = [average.dead-letters], topic.name = secret-letters }}
  }}
}}
flow {{
  channel = kafka
  application = secured
  kafka.clusters.default {{
    bootstrap.servers = "{servers}"
    connection-config {{
      security.protocol = SASL_SSL
      sasl {{ mechanisms = PLAIN, username = flow, password = ${{KAFKA_PASSWORD}} }}
      ssl.ca.location = "{trusted}"
    }}
  }}
}}
"""


def test_commands_use_the_secrets_of_the_blueprint(
    secured: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They connect as a run does, with a password from the environment, and nothing that they print or that is in the
    state directory shows it."""
    servers, trusted = secured
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    module = f"secured_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{module}.py").write_text(_MODULE)
    (tmp_path / "blueprint.conf").write_text(_BLUEPRINT.format(module=module, servers=servers, trusted=trusted))
    plan = Application(tmp_path / "blueprint.conf", (), ()).verify().plan
    assert plan is not None
    state = StateDirectory(tmp_path / ".flow", "secured")
    with state.locked():
        topics = make_topics(plan, state)
        store_descriptor(state, plan)
        written(state.checkpoints, "average.q", {0: {"in": topics["readings"].end().json}}, 0)
    topics["readings"].cluster.send("secret-readings", [(b"k", b"garbage")])  # type: ignore[attr-defined]
    letter = {"record": "{}", "port": "average.in", "coordinates": "secret-readings/0/0", "reason": "it is garbage",
              "time": 0, "version": "1"}  # fmt: skip
    append(topics["letters"], [_rows(letter)], dead_letter_contract(), 0)

    def flow(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, str(tmp_path)])
        captured = capsys.readouterr()
        assert ended.value.code == 0, captured.err
        assert captured.err == ""
        assert PASSWORD not in captured.out and json.dumps(PASSWORD)[1:-1] not in captured.out
        return captured.out if "json" in arguments else " ".join(captured.out.split())

    assert "secret-letters 1 " in flow("topics")
    assert "it is garbage" in flow("dead-letters")
    assert "it is garbage" in flow("dead-letters", "show", "average")
    assert "it is garbage" in flow("tail", "secret-letters")
    assert "average.q 0 " in flow("checkpoints")
    shown = json.loads(flow("checkpoints", "show", "average", "--format", "json"))
    assert [(source["topic"], source["backlog"]) for source in shown[0]["sources"]] == [("secret-readings", 1)]
    for file in state.directory.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), file


def _rows(letter: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([letter], schema=arrow_schema(dead_letter_contract()))
