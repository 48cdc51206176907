"""Both clients connect to a cluster with TLS and a login, whichever notation its settings have."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from blueprint.plan import TopicPlan
from streamlets.artifacts.java import java_command
from streamlets.channels.kafka import reachability
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.client_settings import mismatches
from streamlets.channels.kafka.cluster import Connections, connections
from streamlets.channels.kafka.cluster_client import ClusterError
from streamlets.checks import State
from tests.kafka.broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
PASSWORD = 'se"cr\\et'
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_QUOTED = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
_ACCOUNTS = f'username="admin" password="admin" user_admin="admin" user_flow="{_QUOTED}"'
_ADMIN = {"sasl.username": "admin", "sasl.password": "admin"}
_STORE = "changeit"


def _certificate(directory: Path) -> Path:
    """Create the certificate of a server in `server.p12`; return the file with the certificate to trust."""
    keytool, store = Path(java_command()).with_name("keytool"), directory / "server.p12"
    common = [str(keytool), "-keystore", str(store), "-storepass", _STORE, "-alias", "server"]
    names = ["-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1", "-validity", "2", "-keyalg", "EC"]
    subprocess.run([*common, "-genkeypair", "-storetype", "PKCS12", *names], check=True, capture_output=True)
    trusted = directory / "trusted.pem"
    subprocess.run([*common, "-exportcert", "-rfc", "-file", str(trusted)], check=True, capture_output=True)
    return trusted


@pytest.fixture(scope="module")
def secured(kafka_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Give the servers of a broker with TLS and logins, and the file with the certificate to trust."""
    directory = tmp_path_factory.mktemp("secured")
    trusted = _certificate(directory)
    properties = {
        "listeners": "SASL_SSL://{host}:{port},CONTROLLER://{host}:{controller}",
        "advertised.listeners": "SASL_SSL://{host}:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_LOGIN} {_ACCOUNTS};".replace("\\", "\\\\"),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(directory / "server.p12"),
        "ssl.keystore.password": _STORE,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        # A topic with rules is for those whom they name; all others are for everybody.
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
    }
    with Broker(directory / "broker", properties=properties) as broker:
        yield broker.servers, trusted


def _java(trusted: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{_LOGIN} username="flow" password="{_QUOTED}";',
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


def test_a_wrong_password(secured: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the cluster says that the login failed, and does not show the password."""
    monkeypatch.setattr(reachability, "_PATIENCE", 5.0)
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
