"""Messages that Spark writes are read by other libraries, and theirs by Spark."""

from __future__ import annotations

import datetime
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import avro.io
import avro.schema
import fastavro
import pytest
from confluent_kafka import Producer

if "CI" not in os.environ:  # where it must not be missing
    pytest.importorskip("confluent_kafka.schema_registry.avro")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from blueprint.avro import Contract
from streamlets.channels.base import METADATA
from streamlets.channels.kafka.sending import message as as_message
from streamlets.channels.kafka.sending import send as send_rows
from streamlets.contract.types import spark_schema
from streamlets.contract.wire.registry import RegistryError
from tests.streamlets.channels.benches import KafkaBench, kafka_bench
from tests.streamlets.channels.kafka.readers import Reader, opened, send
from tests.streamlets.channels.topics import READING as SMALL
from tests.streamlets.channels.topics import contract
from tests.streamlets.contract.avro_values import plain
from tests.streamlets.contract.wire.registry_stand_in import registry_stand_in
from tests.streamlets.contract.wire.test_formats import READING, ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLAIN = [plain(row, READING.record, READING) for row in ROWS]
HEADERS = {"avro": 10, "confluent": 5, "plain-avro": 0}


@pytest.fixture
def kafka(request: pytest.FixtureRequest, tmp_path: Path) -> KafkaBench:
    """Return the channel in a new directory."""
    return kafka_bench(request, tmp_path)


def options_of(form: str, url: str) -> dict[str, object]:
    """Return the settings of a topic with a format."""
    registry: dict[str, object] = {"schema-registry": {"url": url, "max.retries": 0}} if form == "confluent" else {}
    return {"format": form, **registry}


def written_by_spark(reader: Reader, rows: Any, of: Contract) -> list[bytes]:
    """Write rows with Spark, and return the messages."""
    reader.topic.publish([of])
    assert send_rows(rows.select(as_message(reader.topic.stored, of, ())), reader.topic.stored) == rows.count()
    ends = reader.topic.cluster.latest(reader.topic.name)
    messages = reader.topic.cluster.messages(reader.topic.name, {0: (0, ends[0])})
    return [message.value() or b"" for message in messages]


def as_columns(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return a row as Spark takes it: unions as tuples, maps as dicts."""
    value = tuple(row["value"].values()) if row["value"] is not None else None
    return row["id"], row["at"], row["price"], value, dict(row["tags"])


@pytest.mark.parametrize("form", ["avro", "confluent", pytest.param("plain-avro", marks=pytest.mark.full)])
def test_avro_is_exchanged_with_other_libraries(form: str, kafka: KafkaBench, own_session: SparkSession) -> None:
    """fastavro, Apache Avro and, with ids of a registry, confluent-kafka read what Spark wrote; Spark reads theirs."""
    with registry_stand_in() as registry:
        reader = opened(kafka, own_session, options_of(form, registry.url))
        reader.inlet = replace(reader.inlet, contract=READING)
        rows = own_session.createDataFrame([as_columns(row) for row in ROWS], spark_schema(READING))
        messages = written_by_spark(reader, rows, READING)
        size = HEADERS[form]
        data = [message[size:] for message in messages]
        schema, theirs = avro.schema.parse(READING.json), fastavro.parse_schema(json.loads(READING.json))
        read = [fastavro.schemaless_reader(io.BytesIO(each), theirs, None) for each in data]
        assert sorted(read, key=lambda row: row["id"]) == PLAIN
        apache = [avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(each))) for each in data]
        assert sorted(apache, key=lambda row: row["id"]) == PLAIN
        header = messages[0][:size]
        other = []
        for row in PLAIN:
            sink = io.BytesIO()
            fastavro.schemaless_writer(sink, theirs, row)
            other.append(header + sink.getvalue())
            sink = io.BytesIO()
            avro.io.DatumWriter(schema).write(row, avro.io.BinaryEncoder(sink))
            other.append(header + sink.getvalue())
        if form == "confluent":
            client = SchemaRegistryClient({"url": registry.url})
            context = SerializationContext(reader.topic.name, MessageField.VALUE)
            deserialize, serialize = AvroDeserializer(client), AvroSerializer(client, READING.json)
            assert sorted((deserialize(each, context) for each in messages), key=lambda row: row["id"]) == PLAIN
            other += [serialize(row, context) for row in PLAIN]
        send(reader, *other)
        assert reader.run() == 0
        expected = {row.id: row for row in rows.collect()}
        assert len(reader.rows) == len(messages) + len(other)
        assert all(row == expected[row.id] for row in reader.rows)


def test_json_is_read_by_any_parser(kafka: KafkaBench, own_session: SparkSession) -> None:
    """A message is an object with the fields as members."""
    reader = opened(kafka, own_session, {"format": "json"})
    rows = own_session.createDataFrame([(1, "a"), (2, None)], spark_schema(SMALL))
    messages = written_by_spark(reader, rows, SMALL)
    parsed = sorted((json.loads(message) for message in messages), key=lambda row: row["id"])
    assert parsed == [{"id": 1, "src": "a"}, {"id": 2, "src": None}]
    send(reader, b'{"src": "x", "more": [1], "id": 3}')
    reader.run()
    assert sorted(reader.ids) == [1, 2, 3]


def test_a_query_reads_key_headers_and_place(kafka: KafkaBench, own_session: SparkSession) -> None:
    """The column `_meta` has what the message has; of a header that appears twice, the last one."""
    reader = opened(kafka, own_session, {"format": "json"})
    producer = Producer({"bootstrap.servers": reader.topic.cluster.name})
    headers: Any = [("trace", b"1"), ("trace", b"2"), ("empty", None)]
    producer.produce(reader.topic.name, b'{"id": 1}', b"key", headers=headers, timestamp=1_700_000_000_000)
    producer.produce(reader.topic.name, b'{"id": 2}')
    assert producer.flush(60) == 0
    reader.run(metadata=True)
    first, second = (row[METADATA] for row in sorted(reader.rows, key=lambda row: row.id))
    assert (first.position, first.sequence, first.key) == ("0", 0, b"key")
    assert first.headers == {"trace": b"2", "empty": None}
    assert first.timestamp.astimezone(datetime.UTC) == datetime.datetime.fromtimestamp(1_700_000_000, datetime.UTC)
    assert (second.position, second.sequence, second.key, second.headers) == ("0", 1, None, None)


def test_a_registry_is_shared_with_other_writers(kafka: KafkaBench, own_session: SparkSession) -> None:
    """A schema that another client registers meanwhile is read after a restart, an incompatible one is refused, and a
    registry that does not answer is one clear error."""
    with registry_stand_in() as registry:
        reader = opened(kafka, own_session, options_of("confluent", registry.url))
        context = SerializationContext(reader.topic.name, MessageField.VALUE)
        client = SchemaRegistryClient({"url": registry.url})
        wider = contract(("id", "long"), ("src", ["null", "string"]), ("more", ["null", "int"]))
        # A new field needs a default for those who read older records with the new schema.
        wider_json = json.loads(wider.json)
        wider_json["fields"][2]["default"] = None
        written_by_spark(reader, own_session.createDataFrame([(1, "a")], spark_schema(SMALL)), SMALL)
        frame = reader.frame()
        send(reader, AvroSerializer(client, json.dumps(wider_json))({"id": 2, "src": None, "more": 5}, context))
        with pytest.raises(Exception, match="partition 0, offset 1: no known schema has the header 0000000002"):
            frame.writeStream.foreachBatch(lambda rows, _: list.clear(rows.collect())).option(
                "checkpointLocation", str(kafka.directory / "other")
            ).trigger(availableNow=True).start().awaitTermination(600)
        assert reader.run() == 0
        assert reader.ids == [1, 2]
        text = contract(("id", "string"), ("src", ["null", "string"]))
        with pytest.raises(RegistryError, match=r"did not accept the schema `Reading` .*incompatible"):
            as_message(reader.topic.stored, text, ())
    again = kafka.open().topic(reader.topic.plan)
    with pytest.raises(RegistryError, match=f"the schema registry {registry.url} cannot be read"):
        again.read(own_session, reader.inlet, name="in_")
