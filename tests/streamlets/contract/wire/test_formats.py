"""Messages in each format: read as written, and exchanged with other libraries in both directions."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal
from typing import Any

import avro.io
import avro.schema
import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.avro import Contract, parse_contract
from blueprint.avro.canonical import canonical_form
from streamlets.contract import arrow_schema
from streamlets.contract.wire.avro_formats import PlainAvro, SingleObject, fingerprint_header, schema_fingerprint
from streamlets.contract.wire.binary import binary_codec
from streamlets.contract.wire.errors import UndecodableError, UnknownSchemaError
from streamlets.contract.wire.format import WireFormat
from streamlets.contract.wire.text_formats import JsonText, SingleField
from tests.random_examples import examples
from tests.streamlets.contract.avro_values import as_read, plain, to_fastavro
from tests.streamlets.contract.cases import CASES, MISSING, record
from tests.streamlets.contract.schemas import schemas, values

UTC = datetime.UTC
READING = parse_contract(
    json.dumps(
        {
            "type": "record",
            "name": "weather.Reading",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
                {"name": "value", "type": ["null", "int", "string"]},
                {"name": "tags", "type": {"type": "map", "values": "bytes"}},
            ],
        }
    )
)
ROWS = [
    {
        "id": number,
        "at": datetime.datetime(2013, 7, 1, 12, 0, 0, 123000, tzinfo=UTC),
        "price": Decimal("-12.34"),
        "value": value,
        "tags": [("a", b"\x00\xff")],
    }
    for number, value in enumerate([None, {"member0": 7, "member1": None}, {"member0": None, "member1": "x"}])
]
HASH_IN_JAVA = "96de8c67596dee0d"
"""The fingerprint of `READING` by Avro's Java library, `SchemaNormalization.parsingFingerprint64`."""
HASH_OF_INT = "7275d51a3f395c8f"


def batch(contract: Contract = READING, rows: list[dict[str, Any]] | None = None) -> pa.RecordBatch:
    """Return records in the Arrow schema of a contract."""
    return pa.RecordBatch.from_pylist(ROWS if rows is None else rows, schema=arrow_schema(contract))


def read_back(wire: WireFormat, messages: list[bytes], contract: Contract = READING) -> list[dict[str, Any]]:
    """Return the records of messages."""
    decoded = [wire.decode(message) for message in messages]
    assert {entry.contract for entry in decoded} <= {contract}
    rows = wire.rows(contract, [entry.value for entry in decoded])
    rows.validate(full=True)
    assert rows.schema.equals(arrow_schema(contract))
    return rows.to_pylist()  # type: ignore[no-any-return]


def single_object(*known: Contract) -> SingleObject:
    """Return the format with these schemas."""
    return SingleObject({schema_fingerprint(contract): contract for contract in known}.get)


@pytest.mark.parametrize("wire", [single_object(READING), PlainAvro(READING)], ids=["single-object", "plain"])
def test_records_are_read_as_written(wire: WireFormat) -> None:
    """Each format returns the records that it was given."""
    assert read_back(wire, wire.encode(batch(), READING)) == ROWS


def test_json_is_read_as_written() -> None:
    """Messages of JSON return the records that they were given, a field without a value included."""
    contract = parse_contract(json.dumps(record(["null", {"type": "map", "values": "bytes"}])))
    rows = [{"id": number, "f": value} for number, value in enumerate([None, [("a", b"\x00\xff")]])]
    wire = JsonText(contract)
    assert read_back(wire, wire.encode(batch(contract, rows), contract), contract) == rows


def test_json_refuses_unions_of_several_types() -> None:
    """A reader could not tell the types apart."""
    with pytest.raises(ValueError, match=r"union of several types, found one at `value`"):
        JsonText(READING).encode(batch(), READING)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_type_is_read_as_written(case: Any) -> None:
    """Avro's encoding preserves the values of every type."""
    contract = parse_contract(json.dumps(record(case.writer)))
    rows = [{"id": 1} | ({} if written is MISSING else {"f": written}) for written, _ in case.values]
    codec = binary_codec(contract)
    decoded = [codec.decode(data) for data in codec.encode(batch(contract, rows))]
    assert codec.rows(decoded).to_pylist() == rows


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_records_are_exchanged_with_fastavro(data: st.DataObject) -> None:
    """Bytes of ours are read by fastavro with the plain schema, and bytes of fastavro by us."""
    contract = parse_contract(json.dumps(data.draw(schemas())))
    rows = data.draw(st.lists(values(contract.record, contract), min_size=1, max_size=3))
    written = batch(contract, rows)
    expected = [plain(row, contract.record, contract) for row in written.to_pylist()]
    schema = fastavro.parse_schema(json.loads(contract.json))
    codec = binary_codec(contract)
    theirs = [fastavro.schemaless_reader(io.BytesIO(data), schema, None) for data in codec.encode(written)]
    assert [as_read(row, contract.record, contract) for row in theirs] == expected
    sinks = [io.BytesIO() for _ in rows]
    for sink, row in zip(sinks, written.to_pylist(), strict=True):
        fastavro.schemaless_writer(sink, schema, to_fastavro(row, contract.record, contract))
    ours = codec.rows([codec.decode(sink.getvalue()) for sink in sinks])
    assert [plain(row, contract.record, contract) for row in ours.to_pylist()] == expected


def test_records_are_exchanged_with_apache_avro() -> None:
    """Apache Avro reads and writes the same bytes, and has the same header."""
    schema = avro.schema.parse(READING.json)
    # The Python library does not remove logical types from the canonical form, as the specification requires.
    header = b"\xc3\x01" + avro.schema.parse(canonical_form(READING.record)).fingerprint("CRC-64-AVRO")
    messages = single_object(READING).encode(batch(), READING)
    plain_rows = [plain(row, READING.record, READING) for row in ROWS]
    for message, expected in zip(messages, plain_rows, strict=True):
        assert message.startswith(header)
        assert avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(message[10:]))) == expected
    written = []
    for row in plain_rows:
        sink = io.BytesIO(header)
        sink.seek(len(header))
        avro.io.DatumWriter(schema).write(row, avro.io.BinaryEncoder(sink))
        written.append(sink.getvalue())
    assert read_back(single_object(READING), written) == ROWS


def test_the_fingerprint_is_that_of_the_specification() -> None:
    """The header has the fingerprint of the canonical form, lowest byte first, without logical types."""
    with_time = READING.json
    without = parse_contract(with_time.replace('"logicalType":"timestamp-millis"', '"note":""'))
    assert without.fingerprint != READING.fingerprint
    assert schema_fingerprint(without) == schema_fingerprint(READING)
    assert schema_fingerprint(READING) == HASH_IN_JAVA
    assert fingerprint_header(HASH_OF_INT) == bytes.fromhex("c3018f5c393f1ad57572")
    assert avro.schema.parse('"int"').fingerprint("CRC-64-AVRO")[::-1].hex() == HASH_OF_INT


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "a message must begin with the bytes c301 and a fingerprint of 8 bytes, found no bytes"),
        (b"\xc3\x01abc", "a message must begin with the bytes c301 and a fingerprint of 8 bytes, found c301616263"),
        (b'{"id": 1}    ', "a message must begin with the bytes c301"),
    ],
)
def test_other_bytes_are_refused(message: bytes, reason: str) -> None:
    """Bytes without the header are undecodable, with the reason."""
    with pytest.raises(UndecodableError, match=f"^{reason}"):
        single_object(READING).decode(message)


def test_an_unknown_fingerprint_is_named() -> None:
    """A message of an unknown writer reports the fingerprint of its schema."""
    (message, *_) = single_object(READING).encode(batch(), READING)
    with pytest.raises(UnknownSchemaError, match=f"has the fingerprint {schema_fingerprint(READING)}") as caught:
        single_object().decode(message)
    assert caught.value.schema == schema_fingerprint(READING)


def test_every_truncation_is_undecodable() -> None:
    """No beginning of a message is taken for a record, and neither is a message with more bytes."""
    wire = single_object(READING)
    for message in wire.encode(batch(), READING):
        for length in range(10, len(message)):
            with pytest.raises(UndecodableError, match=r"the bytes are not a record `weather\.Reading`"):
                wire.decode(message[:length])
        with pytest.raises(UndecodableError, match="1 byte remains after its end"):
            wire.decode(message + b"\x00")


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=60))
def test_garbage_is_undecodable_or_a_record(data: bytes) -> None:
    """Random bytes after a header raise no other error."""
    wire = single_object(READING)
    try:
        decoded = wire.decode(fingerprint_header(schema_fingerprint(READING)) + data)
    except UndecodableError:
        return
    wire.rows(READING, [decoded.value])


def test_plain_avro_has_one_schema() -> None:
    """A record of another schema is not written without a header."""
    other = parse_contract('{"type": "record", "name": "Other", "fields": []}')
    with pytest.raises(ValueError, match=r"messages of plain Avro have one schema, `weather\.Reading`"):
        PlainAvro(READING).encode(batch(other, [{}]), other)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\xff", "the message is not JSON"),
        (b'{"id": ', "the message is not JSON"),
        (b"[" * 100_000, "the message is not JSON that can be read: it is nested too deeply"),
        (b"[1]", "the message must be a JSON object, found `\\[1\\]`"),
        (b'{"id": "x"}', "the message, `id`: is a `str`"),
    ],
)
def test_invalid_json_has_a_reason(message: bytes, reason: str) -> None:
    """JSON that is not a record of the contract reports the field and the reason."""
    with pytest.raises(UndecodableError, match=f"^{reason}"):
        JsonText(READING).decode(message)


def test_json_of_others_is_parsed_into_the_contract() -> None:
    """Numbers are exact, times are ISO strings, further members are ignored, and missing ones are null if possible."""
    text = b'{"id": 3, "at": "2013-07-01T12:00:00.123Z", "price": -12.34, "tags": {"a": "AP8="}, "more": [1]}'
    assert read_back(JsonText(READING), [text]) == [ROWS[0] | {"id": 3}]


@pytest.mark.parametrize(("kind", "value", "message"), [("bytes", b"\xff", b"\xff"), ("string", "é", b"\xc3\xa9")])
def test_a_single_field_is_the_message(kind: str, value: object, message: bytes) -> None:
    """Bytes and strings are messages without any encoding."""
    contract = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": kind}]}))
    wire = SingleField(contract)
    assert wire.encode(batch(contract, [{"v": value}]), contract) == [message]
    assert read_back(wire, [message], contract) == [{"v": value}]


def test_a_string_must_be_utf_8() -> None:
    """Other bytes are undecodable as a string, and a record with several fields has no such messages."""
    contract = parse_contract('{"type": "record", "name": "R", "fields": [{"name": "v", "type": "string"}]}')
    with pytest.raises(UndecodableError, match="the bytes are not a string in UTF-8"):
        SingleField(contract).decode(b"a\xff")
    with pytest.raises(ValueError, match="one field of the type `bytes` or `string`, found the fields `id`, `at`"):
        SingleField(READING).decode(b"a")
