"""A schema registry while an application runs: it is down, and others register schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from blueprint.avro.model import Contract
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.contract.types import arrow_schema
from streamlets.contract.wire.registry import RegistryError
from streamlets.spark.failure import failure_of, failure_of_text
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.kafka.readers import Reader, message, opened, send
from tests.streamlets.channels.topics import WIDER, contract
from tests.streamlets.contract.wire.registry_stand_in import RegistryStandIn, registry_stand_in

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TEXTUAL = contract(("id", "string"), ("src", ["null", "string"]))


@pytest.fixture
def registry() -> Iterator[RegistryStandIn]:
    """Return a registry that accepts every schema, as one without compatibility checks."""
    with registry_stand_in() as started:
        started.compatibility = False
        yield started


@pytest.fixture(params=["fail", "dead-letters"])
def reader(
    registry: RegistryStandIn, own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path
) -> Reader:
    """Return a reader of a topic with a record, which it has read."""
    settings = {"url": registry.url, "max.retries": 0}
    reader = opened(kafka_bench(request, tmp_path), own_session, {"format": "confluent", "schema-registry": settings})
    reader.inlet = replace(reader.inlet, on_invalid=request.param)
    send(reader, message(reader, 1))
    reader.run()
    return reader


def foreign(reader: Reader, id: object, of: Contract) -> bytes:
    """Return a record as the message of another application, which registers its schema."""
    topic = CHANNEL_TYPES["kafka"].open(reader.directory / "foreign").topic(reader.topic.plan)
    assert isinstance(topic, KafkaTopic)
    record = pa.RecordBatch.from_pylist([{"id": id, "src": None}], schema=arrow_schema(of))
    return topic._wire(of).encode(record, of)[0]


def failure_while_it_runs(reader: Reader, frame: DataFrame) -> str:
    """Return the error of a query that has been running, which a restart may fix.

    Arguments:
        frame: the records that it reads.
    """
    with pytest.raises(Exception) as caught:
        reader.run(frame)
    failure = failure_of_text(str(caught.value), building=False)
    assert not failure.fatal
    return failure.cause


def test_a_schema_is_registered_and_then_the_registry_is_down(reader: Reader, registry: RegistryStandIn) -> None:
    """A message with the new schema stops the query. Its restarts fail until the registry answers again; then it reads
    each record, and none is a dead letter."""
    frame = reader.frame()
    send(reader, foreign(reader, 2, WIDER), message(reader, 3))
    registry.available = False
    name = reader.topic.name
    assert f"topic `{name}`, partition 0, offset 1: no known schema has the header 0000000002, the id 2" in (
        failure_while_it_runs(reader, frame)
    )
    with pytest.raises(RegistryError, match=f"^the schema registry {registry.url} cannot be read") as caught:
        reader.run()
    assert not failure_of(caught.value, building=True).fatal
    registry.available = True
    reader.run()
    assert reader.ids == [1, 2, 3]
    assert reader.letters() == []


def test_a_schema_that_the_reader_cannot_read(reader: Reader, registry: RegistryStandIn) -> None:
    """It concerns only messages with it: they stop the reader for good, or are dead letters. Nothing else is lost."""
    frame = reader.frame()
    unreadable = foreign(reader, "x", TEXTUAL)
    registry.register(next(iter(registry.subjects)), {"schema": '{"type": "object"}', "schemaType": "JSON"})
    send(reader, message(reader, 2))
    reader.run()
    assert reader.ids == [1, 2]
    send(reader, message(reader, 3), unreadable)
    assert "offset 3: no known schema has the header 0000000002, the id 2" in failure_while_it_runs(reader, frame)
    reason = f"the topic `{reader.topic.name}` has records written with the schema {TEXTUAL.fingerprint}, which the "
    reason += "schema `Reading` cannot read: id: the writer has `string`, the reader expects `long`"
    if reader.inlet.on_invalid == "fail":
        with pytest.raises(Exception, match="offset 3: ") as caught:
            reader.run()
        failure = failure_of_text(str(caught.value), building=False)
        assert reason in failure.cause
        assert failure.fatal == "the records in the topic do not change"
        assert reader.ids == [1, 2]
    else:
        assert reader.run() == 1
        assert reader.ids == [1, 2, 3]
        assert [letter["reason"] for letter in reader.letters()] == [reason]
