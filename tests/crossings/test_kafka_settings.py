"""Wrong settings of Kafka, each of which `flow verify` finds at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.application import Application
from streamlets.channels.kafka.known_settings import CLIENT, REGISTRY, TOPIC

APP = """
from streamlets import AvroInlet, Streamlet, SparkStreamlet, SparkStreamletLogic

class Archive(SparkStreamlet):
    into = AvroInlet("in", schema="id long NOT NULL, label string")

    class Logic(SparkStreamletLogic["Archive"]):
        def build_streaming_queries(self):
            return self.read_stream(self.streamlet.into).writeStream.format("noop")
"""
BLUEPRINT = """blueprint {
  streamlets { archive = app.Archive }
  topics.readings { consumers = [archive.in], channel = kafka }
}
flow.kafka.clusters.default.bootstrap.servers = "kafka-1:9092"
flow.topics.readings {
  %s
}
"""
LINE = 7
WRONG = [
    "bootstrap.servers = kafka-1",
    'bootstrap.servers = "kafka-1:9092, kafka-2"',
    'bootstrap.servers = "http://kafka-1"',
    'bootstrap.servers = "kafka-1:port"',
    "topic.retention.mss = 1000",
    "topic.cleanup.polcy = compact",
    "topic.cleanup.policy = compactt",
    "topic.retention.ms = a week",
    "topic.min.insync.replicas = two",
    "topic.unclean.leader.election.enable = maybe",
    "topic.message.timestamp.type = CreatedTime",
    "topic.compression.type = gzipp",
    "producer-config.compresion.type = gzip",
    "producer-config.compression.type = gzipp",
    "producer-config.linger.ms = soon",
    "producer-config.acks = every",
    "producer-config.batch.sise = 1000",
    "producer-config.batch.size = 16k",
    "consumer-config.fetch.max.byte = 1000",
    "consumer-config.fetch.max.bytes = many",
    "consumer-config.check.crcs = perhaps",
    "connection-config.security.protocol = SASL_SLL",
    "connection-config.security.protokol = SSL",
    "connection-config.sasl.mechanisme = PLAIN",
    "connection-config.ssl.ca.location = /nowhere/authorities.pem",
    "connection-config { ssl.truststore.type = PEM, ssl.truststore.location = /nowhere/authorities.pem }",
    "connection-config.client.idd = x",
    "connection-config.request.timeout.ms = 30s",
    "connection-config.metadata.max.age.ms = 1.5",
    "connection-config.group.id = mine",
    "format = confluent",
    'format = confluent, schema-registry.urll = "http://registry:8081"',
    'format = confluent, schema-registry { url = "http://registry:8081", timeout = long }',
    'format = confluent, schema-registry { url = "http://registry:8081", max.retry = 1 }',
    'format = confluent, subject = record, schema-registry.url = "http://registry:8081"',
    "format = bytes",
    "format = jsn",
    "numeric-times = millis",
    "tombstones = skipp",
    "cluster = defualt",
]
RIGHT = [
    'bootstrap.servers = "kafka-1:9092,[::1]:9093, PLAINTEXT://kafka-3:9094"',
    'topic { retention.ms = -1, cleanup.policy = "compact, delete", min.cleanable.dirty.ratio = 0.1 }',
    "producer-config { linger.ms = 5, acks = all, compression.type = zstd, enable.metrics.push = false }",
    "consumer-config { fetch.max.bytes = 1000, queued.min.messages = 10 }",
    "connection-config { security.protocol = ssl, client.id = x, socket.keepalive.enable = true }",
    'format = confluent, subject = topic-record, schema-registry { url = "http://registry:8081", timeout = 2.5 }',
    "format = json, numeric-times = seconds",
    "",
]


def findings(directory: Path, settings: str) -> list[tuple[str, int]]:
    """Return the code and the line of each finding about the blueprint."""
    (directory / "app.py").write_text(APP)
    (directory / "blueprint.conf").write_text(BLUEPRINT % settings)
    found = Application(directory / "blueprint.conf", (), ()).verify().diagnostics
    return [(item.code, item.primary.span.line if item.primary is not None else 0) for item in found]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    """Return the findings without a mistake, such as a topic without producers."""
    return [(code, line) for code, line in findings(tmp_path_factory.mktemp("usual"), "")]


@pytest.mark.parametrize("settings", WRONG)
def test_a_wrong_setting_is_found_at_its_line(settings: str, tmp_path: Path, usual: list[tuple[str, int]]) -> None:
    """Before anything runs, with a finding at the setting."""
    more = [finding for finding in findings(tmp_path, settings) if finding not in usual]
    assert more
    assert {line for _, line in more} == {LINE}, more


@pytest.mark.parametrize("settings", RIGHT)
def test_right_settings_are_accepted(settings: str, tmp_path: Path, usual: list[tuple[str, int]]) -> None:
    """Without a finding."""
    assert [finding for finding in findings(tmp_path, settings) if finding not in usual] == []


def test_a_misspelt_address_of_a_registry_is_one_finding(tmp_path: Path, usual: list[tuple[str, int]]) -> None:
    """That the format needs a registry follows from it."""
    found = findings(tmp_path, 'format = confluent, schema-registry.urll = "http://registry:8081"')
    assert [finding for finding in found if finding not in usual] == [("client-setting-doubt", LINE)]


def test_every_setting_of_the_tables_has_a_known_kind() -> None:
    """A kind is a type, or the allowed values."""
    for table in (CLIENT, TOPIC, REGISTRY):
        assert all(kind in ("", "int", "float", "bool") or " " in kind for kind in table.values())
        assert len(table) > 20
