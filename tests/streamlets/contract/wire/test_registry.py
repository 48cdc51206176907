"""Confluent's wire format with a registry: exchanged with confluent-kafka's own serializers."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

if "CI" not in os.environ:  # where it must not be missing
    pytest.importorskip("confluent_kafka.schema_registry.avro")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from blueprint.avro import parse_contract
from streamlets.contract.wire import registry as registry_module
from streamlets.contract.wire.avro_formats import Confluent
from streamlets.contract.wire.errors import UndecodableError, UnknownSchemaError
from streamlets.contract.wire.registry import RegistryError, SchemaRegistry, SubjectName
from tests.crossings.planted import Planter, found_in
from tests.crossings.secret_runs import servers
from tests.streamlets.contract.avro_values import plain
from tests.streamlets.contract.wire.registry_stand_in import RegistryStandIn, registry_stand_in
from tests.streamlets.contract.wire.test_formats import READING, ROWS, batch, read_back

CONTEXT = SerializationContext("readings", MessageField.VALUE)


@pytest.fixture
def registry() -> Iterator[RegistryStandIn]:
    """Return a registry on loopback."""
    with registry_stand_in() as started:
        yield started


def schemas_of(registry: RegistryStandIn, **settings: Any) -> SchemaRegistry:
    """Return the schemas of the topic `readings`."""
    return SchemaRegistry({"url": registry.url}, "readings", **settings)


def test_records_are_exchanged_with_confluents_serializers(registry: RegistryStandIn) -> None:
    """confluent-kafka's deserializer reads ours, and we read what its serializer writes."""
    client = SchemaRegistryClient({"url": registry.url})
    wire = Confluent(schemas_of(registry))
    plain_rows = [plain(row, READING.record, READING) for row in ROWS]
    deserialize = AvroDeserializer(client)
    assert [deserialize(message, CONTEXT) for message in wire.encode(batch(), READING)] == plain_rows
    serialize = AvroSerializer(client, READING.json)
    assert read_back(wire, [serialize(row, CONTEXT) for row in plain_rows]) == ROWS
    assert list(registry.subjects) == ["readings-value"], "both sides use one subject"
    assert wire.registry.contract(1) == READING


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("topic", "readings-value"), ("record", "weather.Reading"), ("topic-record", "readings-weather.Reading")],
)
def test_subjects_are_named_by_strategy(registry: RegistryStandIn, strategy: SubjectName, subject: str) -> None:
    """Schemas are registered under the subject of the strategy, and found again by a reader."""
    schemas_of(registry, strategy=strategy).id_of(READING)
    assert list(registry.subjects) == [subject]
    known = schemas_of(registry, strategy=strategy).contracts()
    assert known == ({} if strategy == "record" else {1: READING})


def test_a_schema_registered_by_another_writer_is_read(registry: RegistryStandIn) -> None:
    """A reader asks the registry for an id that it does not know yet."""
    reader = Confluent(schemas_of(registry))
    assert reader.registry.contracts() == {}  # type: ignore[attr-defined]
    messages = Confluent(schemas_of(registry)).encode(batch(), READING)
    assert read_back(reader, messages) == ROWS


def test_an_incompatible_schema_is_refused(registry: RegistryStandIn) -> None:
    """The registry's reason is in the error."""
    schemas_of(registry).id_of(READING)
    other = parse_contract(READING.json.replace('"name":"id","type":"long"', '"name":"key","type":"string"'))
    with pytest.raises(RegistryError, match=r"did not accept the schema `weather\.Reading` for the subject") as caught:
        schemas_of(registry).id_of(other)
    assert "incompatible with an earlier schema" in str(caught.value)


def test_schemas_are_only_looked_up_if_they_must_not_be_registered(registry: RegistryStandIn) -> None:
    """Without registration a new schema is an error, and a registered one is found."""
    with pytest.raises(RegistryError, match="did not accept the schema"):
        schemas_of(registry, register=False).id_of(READING)
    number = schemas_of(registry).id_of(READING)
    assert schemas_of(registry, register=False).id_of(READING) == number


def test_an_unknown_id_is_named(registry: RegistryStandIn) -> None:
    """A message with an id that the registry does not know reports the id."""
    with pytest.raises(UnknownSchemaError, match="no schema with the id 77") as caught:
        Confluent(schemas_of(registry)).decode(b"\x00\x00\x00\x00\x4dabc")
    assert caught.value.schema == "77"


def test_other_kinds_of_schemas_are_refused(registry: RegistryStandIn) -> None:
    """Schemas that are not Avro records, or that refer to others, are undecodable, with the reason."""
    registry.register("a", {"schema": '{"type": "object"}', "schemaType": "JSON"})
    registry.register("b", {"schema": '"int"'})
    reference = {"name": "other.Type", "subject": "b", "version": 1}
    registry.register("c", {"schema": READING.json, "references": [reference]})
    wire = Confluent(schemas_of(registry))
    for number, reason in ((1, "must be Avro, found JSON"), (2, "is not a valid record"), (3, "`other.Type`")):
        with pytest.raises(UndecodableError, match=reason):
            wire.decode(b"\x00" + number.to_bytes(4, "big"))


def test_other_kinds_of_schemas_do_not_stop_a_reader(registry: RegistryStandIn) -> None:
    """Others may register them for the topic; they concern only the messages that name them."""
    registry.compatibility = False
    schemas_of(registry).id_of(READING)
    registry.register("readings-value", {"schema": '{"type": "object"}', "schemaType": "JSON"})
    registry.register("readings-value", {"schema": '"int"'})
    assert schemas_of(registry).contracts() == {1: READING}


def test_known_schemas_need_no_registry(registry: RegistryStandIn) -> None:
    """Writers and readers of known schemas continue while it is down."""
    wire = Confluent(schemas_of(registry))
    messages = wire.encode(batch(), READING)
    assert read_back(wire, messages) == ROWS
    registry.available = False
    assert wire.encode(batch(), READING) == messages
    assert read_back(wire, messages) == ROWS


def test_a_registry_that_hangs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client has no limit of its own. That of the settings has precedence."""
    monkeypatch.setattr(registry_module, "LIMITS", {"timeout": 0.1, "max.retries": 1, "retries.wait.ms": 1})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RegistryError, match=f"^the schema registry {url} cannot be read"):
            SchemaRegistry({"url": url, "max.retries": 0}, "readings").contract(1)
    client = SchemaRegistry({"url": url, "timeout": 7}, "readings")._connected()
    assert client._rest_client.timeout == 7


def test_bytes_without_the_magic_byte_are_refused(registry: RegistryStandIn) -> None:
    """A message in another format is undecodable."""
    for message in (b"", b"\x00\x00", b"\xc3\x01abcdefgh"):
        with pytest.raises(UndecodableError, match="must begin with the byte 00 and a schema id of 4 bytes"):
            Confluent(schemas_of(registry)).decode(message)


def test_a_registry_that_does_not_answer_is_an_error() -> None:
    """The error names the registry; it is not taken for an unknown schema."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    settings = {"url": url, "max.retries": 0, "retries.wait.ms": 1, "retries.max.wait.ms": 1}
    with pytest.raises(RegistryError, match=f"^the schema registry {url} cannot be read"):
        SchemaRegistry(settings, "readings").contract(1)


def test_an_answer_that_repeats_the_login_is_masked() -> None:
    """Commands and runs show the error, and store it."""
    login = Planter().secret()
    with servers() as (web, _):
        settings = {"url": f"http://{web}", "basic.auth.user.info": f"flow:{login}", "max.retries": 0}
        with pytest.raises(RegistryError, match="refused") as raised:
            SchemaRegistry(settings, "readings").contracts()
    assert not found_in(str(raised.value))
