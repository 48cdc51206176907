"""The connection of a topic: where its settings come from, and what each client gets of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from streamlets.channels.kafka.client_settings import java_settings, librdkafka_settings, mismatches
from streamlets.channels.kafka.cluster import Connection, connections

SERVERS = "bootstrap.servers"
CLUSTERS = {
    "clusters": {
        "default": {SERVERS: "one:9092"},
        "east": {
            SERVERS: "two:9092",
            "connection-config": {"security.protocol": "SASL_SSL", "client.id": "cluster"},
            "producer-config": {"acks": "all", "linger.ms": 5},
        },
    }
}
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="flow" password="a\\"b\\\\";'


def test_servers_of_the_topic_come_first() -> None:
    """A topic with servers of its own has none of the settings of a cluster."""
    found = connections({SERVERS: "own:1", "cluster": "east"}, CLUSTERS)
    assert found.servers == "own:1"
    assert found.producer == Connection({SERVERS: "own:1"}, {SERVERS: "own:1"})


def test_servers_in_the_connection_config() -> None:
    """Cloudflow's blueprints have them there."""
    assert connections({"connection-config": {SERVERS: "own:1"}}, CLUSTERS).servers == "own:1"


def test_the_named_cluster_then_the_default() -> None:
    """A topic without servers is on the cluster that it names, else on `default`."""
    assert connections({"cluster": "east"}, CLUSTERS).servers == "two:9092"
    assert connections({}, CLUSTERS).servers == "one:9092"


def test_settings_of_the_topic_override_those_of_its_cluster() -> None:
    """Those of producers and consumers override those of both."""
    options = {
        "cluster": "east",
        "connection-config": {"client.id": "topic"},
        "producer-config": {"acks": 1},
        "consumer-config": {"client.id": "reader", "check.crcs": False},
    }
    found = connections(options, CLUSTERS)
    common = {SERVERS: "two:9092", "security.protocol": "SASL_SSL"}
    assert found.admin.java == common | {"client.id": "topic"}
    assert found.producer.java == common | {"client.id": "topic", "acks": "1", "linger.ms": "5"}
    assert found.consumer.java == common | {"client.id": "reader", "check.crcs": "false"}


@pytest.mark.parametrize("channel_options", [{}, {"clusters": {"east": {SERVERS: "two:9092"}}}])
def test_a_topic_without_servers(channel_options: Mapping[str, Any]) -> None:
    """Without servers and without a cluster there is no connection."""
    with pytest.raises(ValueError, match=r"neither `bootstrap\.servers` nor a cluster"):
        connections({}, channel_options)


@pytest.mark.parametrize(
    ("settings", "librdkafka"),
    [
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}, {"sasl.username": "flow", "sasl.password": 'a"b\\'}),
        (
            {"sasl.jaas.config": "a.Krb5LoginModule required useKeyTab=true keyTab='/k' principal=me@X serviceName=k;"},
            {
                "sasl.kerberos.keytab": "/k",
                "sasl.kerberos.principal": "me@X",
                "sasl.kerberos.service.name": "k",
            },
        ),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me.pem", "ssl.key.password": "secret"},
            {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.pem", "ssl.key.password": "secret"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me.p12", "ssl.keystore.password": "secret"},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "secret"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"max.request.size": "10", "buffer.memory": "10"}, {"message.max.bytes": "10"}),
    ],
)
def test_java_settings_for_librdkafka(settings: dict[str, str], librdkafka: dict[str, str]) -> None:
    """Java's settings have other names for librdkafka, or other forms; those that it does not know are omitted."""
    assert not mismatches(settings)
    assert java_settings(settings) == settings
    assert librdkafka_settings(settings) == librdkafka | (
        {"sasl.mechanism": "PLAIN"} if "sasl.mechanism" in settings else {}
    )


@pytest.mark.parametrize(
    ("settings", "java"),
    [
        (
            {"sasl.mechanisms": "PLAIN", "sasl.username": "flow", "sasl.password": 'a"b\\'},
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN},
        ),
        ({"ssl.ca.location": "/ca.pem"}, {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"}),
        (
            {"ssl.ca.pem": "CA", "ssl.certificate.pem": "C", "ssl.key.pem": "K"},
            {
                "ssl.truststore.certificates": "CA",
                "ssl.truststore.type": "PEM",
                "ssl.keystore.certificate.chain": "C",
                "ssl.keystore.key": "K",
                "ssl.keystore.type": "PEM",
            },
        ),
        ({"ssl.endpoint.identification.algorithm": "none"}, {"ssl.endpoint.identification.algorithm": ""}),
    ],
)
def test_librdkafka_settings_for_java(settings: dict[str, str], java: dict[str, str]) -> None:
    """Settings in the notation of librdkafka give Java the same; librdkafka gets them back unchanged."""
    assert not mismatches(settings)
    assert java_settings(settings) == java
    translated = {"sasl.mechanism" if key == "sasl.mechanisms" else key: value for key, value in settings.items()}
    assert librdkafka_settings(settings) == translated


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"ssl.cipher.suites": "X"}, "ssl.cipher.suites", "cannot be translated"),
        ({"sasl.jaas.config": "org.example.Login required;"}, "sasl.jaas.config", "cannot be translated"),
        ({"sasl.jaas.config": "a.PlainLoginModule required username=x;"}, "sasl.jaas.config", "cannot be translated"),
        ({"ssl.truststore.location": "/ca.jks"}, "ssl.truststore.location", "trust store of the type JKS"),
        (
            {"ssl.truststore.location": "/ca", "ssl.truststore.type": "PKCS12"},
            "ssl.truststore.location",
            "trust store of the type PKCS12",
        ),
        ({"ssl.keystore.location": "/me.jks"}, "ssl.keystore.location", "key store of the type JKS"),
        ({"ssl.certificate.location": "/me.pem"}, "ssl.certificate.location", "cannot be translated"),
        ({"sasl.username": "flow", "sasl.password": "x"}, "sasl.username", "need a `sasl.mechanism`"),
        ({"sasl.username": "flow", "sasl.mechanism": "PLAIN"}, "sasl.username", "without `sasl.password`"),
        ({"sasl.password": "x", "sasl.mechanism": "GSSAPI"}, "sasl.password", "found `GSSAPI`"),
    ],
)
def test_settings_that_one_client_would_not_have(settings: dict[str, str], key: str, message: str) -> None:
    """A setting of TLS or SASL that cannot be translated is a mismatch, found once."""
    (found,) = mismatches(settings)
    assert found.key == key and message in found.message and found.help


@pytest.mark.parametrize(
    "settings",
    [
        {"sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN, "security.protocol": "SASL_PLAINTEXT"},
        {
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "a",
            "sasl.password": "b",
            "security.protocol": "SASL_SSL",
        },
        {"client.id": "x", "acks": "all", "linger.ms": "5", "max.request.size": "2000000", "fetch.max.wait.ms": "100"},
        {"fetch.min.bytes": "1", "max.partition.fetch.bytes": "1000", "receive.buffer.bytes": "9", "retries": "3"},
        {"socket.connection.setup.timeout.ms": "1000", "retry.backoff.max.ms": "1000", "client.rack": "a"},
        {"request.timeout.ms": "1000", "delivery.timeout.ms": "5000", "transaction.timeout.ms": "5000"},
        {"session.timeout.ms": "1000", "heartbeat.interval.ms": "100", "send.buffer.bytes": "99", "buffer.memory": "1"},
        {"metadata.max.age.ms": "1000", "connections.max.idle.ms": "1000", "reconnect.backoff.ms": "10"},
        {"max.in.flight.requests.per.connection": "1", "compression.type": "lz4", "fetch.max.bytes": "1000000"},
        {"reconnect.backoff.max.ms": "1000", "retry.backoff.ms": "10", "client.dns.lookup": "use_all_dns_ips"},
        {"sasl.kerberos.kinit.cmd": "true", "sasl.kerberos.min.time.before.relogin": "0"},
    ],
)
def test_librdkafka_knows_its_settings(settings: dict[str, str]) -> None:
    """librdkafka refuses unknown settings as soon as a client is made."""
    AdminClient(librdkafka_settings(settings), logger=_Silent())


class _Silent:
    """A logger that ignores the messages of clients without a broker."""

    def log(self, *_: object) -> None:
        """Ignore a message."""
