"""Random records and random changes of their schema, read as by fastavro."""

from __future__ import annotations

import json

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.avro import check, parse_contract
from streamlets.contract import arrow_schema, resolver
from tests.random_examples import examples
from tests.streamlets.contract.avro_values import fastavro_reads, plain
from tests.streamlets.contract.schemas import readers, schemas, values


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_was_written_is_read_as_fastavro_reads_it(data: st.DataObject) -> None:
    """For compatible schemas, the values are the same as fastavro's, in the reader's Arrow schema."""
    drawn = data.draw(schemas())
    writer = parse_contract(json.dumps(drawn))
    reader = parse_contract(json.dumps(data.draw(readers(drawn))))
    assert check(writer, reader, suggest=False).compatible
    rows = data.draw(st.lists(values(writer.record, writer), min_size=1, max_size=4))
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(writer))
    found = resolver(writer, reader)(batch)
    found.validate(full=True)
    assert found.schema.equals(arrow_schema(reader))
    for written, read in zip(rows, found.to_pylist(), strict=True):
        assert plain(read, reader.record, reader) == fastavro_reads(written, writer, reader)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_reading_with_the_writers_schema_changes_nothing(data: st.DataObject) -> None:
    """A reader with the same schema reads each record as it was written."""
    writer = parse_contract(json.dumps(data.draw(schemas())))
    rows = data.draw(st.lists(values(writer.record, writer), max_size=4))
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(writer))
    assert resolver(writer, writer)(batch) is batch
