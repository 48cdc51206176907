"""Each format of messages with each type of contracts, through Spark's columns and without Spark.

Both decoders agree on each message: the same value, or not a record.
"""

from __future__ import annotations

import datetime
import json
import random
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from blueprint.avro.model import Contract
from streamlets.channels.kafka.clusters import ClusterState, ClusterTopic
from streamlets.channels.kafka.sending import MESSAGE, message
from streamlets.channels.kafka.source import decode
from streamlets.channels.kafka.topic_settings import TopicSettings
from streamlets.contract import arrow_schema
from streamlets.contract.types import spark_schema
from streamlets.contract.wire.avro_formats import Confluent, PlainAvro, SingleObject, schema_fingerprint
from streamlets.contract.wire.errors import WireError
from streamlets.contract.wire.format import WireFormat
from streamlets.contract.wire.json_rules import UNITS
from streamlets.contract.wire.text_formats import JsonText, SingleField
from tests.crossings.wire_values import BINARY_ONLY, INVALID, MESSAGES, TYPES, contract_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = datetime.UTC
NOON = datetime.datetime(2013, 7, 1, 12, tzinfo=UTC)
NUMBER = 7


class Registered:
    """A registry with one schema, whose id is `NUMBER`."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract

    def id_of(self, contract: Contract) -> int:
        return NUMBER

    def contract(self, schema_id: int) -> Contract:
        if schema_id != NUMBER:
            raise WireError("unknown")
        return self._contract

    def contracts(self) -> dict[int, Contract]:
        return {NUMBER: self._contract}


def topic_of(contract: Contract, settings: TopicSettings) -> ClusterTopic:
    """Return a topic with the schema of one writer."""
    registered = Registered(contract)
    state = SimpleNamespace(
        schemas=SimpleNamespace(of=lambda _: {schema_fingerprint(contract): contract}),
        registry=lambda *_: registered,
    )
    return ClusterTopic("t", settings, cast("ClusterState", state))


def wire_of(contract: Contract, settings: TopicSettings) -> WireFormat:
    """Return the format of a topic, without Spark."""
    match settings.format:
        case "avro":
            return SingleObject({schema_fingerprint(contract): contract}.get)
        case "confluent":
            return Confluent(Registered(contract))
        case "plain-avro":
            return PlainAvro(contract)
        case "json":
            return JsonText(contract, settings.numeric_times)
        case "bytes":
            return SingleField(contract)


def without_spark(messages: list[bytes], contract: Contract, settings: TopicSettings) -> list[Any]:
    """Return what each message is to the decoder without Spark."""
    wire = wire_of(contract, settings)

    def decoded(data: bytes) -> Any:
        try:
            record = wire.decode(data)
        except WireError:
            return INVALID
        rows = wire.rows(record.contract, [record.value])
        rows.validate(full=True)
        return comparable(rows.to_pylist()[0])

    return [decoded(data) for data in messages]


def with_spark(session: SparkSession, messages: list[bytes], contract: Contract, settings: TopicSettings) -> list[Any]:
    """Return what each message is to the decoder of Spark's columns."""
    from pyspark.sql import functions as F

    columns = "_streamlets_offset bigint, _streamlets_partition int, _streamlets_value binary"
    rows = session.createDataFrame([(at, 0, bytearray(data)) for at, data in enumerate(messages)], columns)
    decoded = decode(rows, topic_of(contract, settings), contract, None)
    one = decoded.select("_streamlets_offset", F.col("_streamlets_record.ok").alias("ok"), "_streamlets_reason")
    found = sorted(one.toArrow().to_pylist(), key=lambda row: row["_streamlets_offset"])
    assert [row["_streamlets_reason"] for row in found if row["ok"] is None and not row["_streamlets_reason"]] == []
    return [INVALID if row["ok"] is None else comparable(row["ok"]) for row in found]


def comparable(value: Any) -> Any:
    """Return a value in which NaN equals itself, and the order of a map does not count."""
    match value:
        case dict():
            return {name: comparable(inner) for name, inner in value.items()}
        case list() if value and all(isinstance(item, tuple) for item in value):
            return sorted((key, comparable(inner)) for key, inner in value)
        case list():
            return [comparable(item) for item in value]
        case float():
            return repr(value)
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case bytes():
            return value.hex()
    return value


def differences(messages: list[bytes], spark: list[Any], plain: list[Any]) -> list[str]:
    """Return the messages that the decoders do not agree on."""
    assert len(messages) == len(spark) == len(plain)
    return [
        f"{data[:80]!r}: Spark {one!r:.150}, without Spark {other!r:.150}"
        for data, one, other in zip(messages, spark, plain, strict=True)
        if one != other
    ]


def assert_agreed(wrong: dict[str, list[str]]) -> None:
    """Fail with the messages that the decoders do not agree on, by type."""
    lines = [f"{name}: {line}" for name, found in wrong.items() for line in found]
    if lines:
        pytest.fail(f"{len(lines)} differences\n" + "\n".join(lines[:200]), pytrace=False)


@pytest.mark.spark
@pytest.mark.parametrize("unit", UNITS)
def test_messages_of_json_mean_the_same_to_both_decoders(spark: SparkSession, unit: Any) -> None:
    """Each text of JSON for each type, required, optional, and with a default."""
    settings = TopicSettings(format="json", numeric_times=unit)
    wrong: dict[str, list[str]] = {}
    times = {name for name in TYPES if "timestamp" in name}
    for name, kind in TYPES.items():
        if unit != "milliseconds" and name not in times:
            continue  # the unit concerns times only
        contract = contract_of(kind)
        plain = without_spark(MESSAGES, contract, settings)
        wrong[name] = differences(MESSAGES, with_spark(spark, MESSAGES, contract, settings), plain)
        assert {INVALID} < set(map(str, plain)), name
    assert_agreed(wrong)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        (["null", "int"], {}),
        (["null", "int"], {"default": None}),
        (["int", "null"], {"default": 5}),
        ("int", {"default": 5}),
        ("bytes", {"default": "\u00ff"}),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, {"default": "\u0001"}),
        ({"type": "long", "logicalType": "timestamp-millis"}, {"default": 1700000000000}),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, {"default": 1700000000000000}),
        ({"type": "int", "logicalType": "date"}, {"default": 10}),
        ({"type": "array", "items": "string"}, {"default": ["a"]}),
        ({"type": "map", "values": "int"}, {"default": {"k": 1}}),
    ],
    ids=str,
)
def test_missing_members_have_their_defaults(spark: SparkSession, kind: Any, attributes: Any) -> None:
    """A missing member is the default, a null is not."""
    contract, settings = contract_of(kind, **attributes), TopicSettings(format="json")
    messages = [b"{}", b'{"f":null}', b'{"F":1}', b'{"last":"x"}']
    plain = without_spark(messages, contract, settings)
    assert differences(messages, with_spark(spark, messages, contract, settings), plain) == []
    assert INVALID not in (plain[0], plain[2], plain[3])
    assert (plain[1] == INVALID) is not isinstance(kind, list)


DECIMAL = TYPES["bytes decimal"]
MILLIS, LOCAL = TYPES["long timestamp-millis"], TYPES["long local-timestamp-micros"]
EXPECTED: list[tuple[Any, str, Any]] = [
    (MILLIS, "1372680000000", NOON),
    (MILLIS, "1372680000", INVALID),
    (MILLIS, "1372680000000000", INVALID),
    (MILLIS, '"2013-07-01T14:00:00+02:00"', NOON),
    (MILLIS, '"2013-07-01T12:00:00"', NOON),
    (MILLIS, '"2013-07-01T12:00:00.0001Z"', INVALID),
    (LOCAL, "1372680000000", NOON.replace(tzinfo=None)),
    (LOCAL, '"2013-07-01T12:00:00Z"', INVALID),
    (DECIMAL, "1.23", Decimal("1.23")),
    (DECIMAL, "1.230", Decimal("1.23")),
    (DECIMAL, "1.239", INVALID),
    (DECIMAL, '"1.239"', INVALID),
    (DECIMAL, "1000", INVALID),
    ("int", "2147483648", INVALID),
    ("int", "1.0", INVALID),
    ("int", '"1"', INVALID),
    ("long", "9223372036854775808", INVALID),
    ("double", "1e400", INVALID),
    ("float", "1e39", INVALID),
    ("double", "0.1", 0.1),
    ("string", "1", INVALID),
    ("boolean", '"true"', INVALID),
    ("bytes", '"AQI="', b"\x01\x02"),
    ("bytes", '"AQJ="', INVALID),
]


@pytest.mark.parametrize(("kind", "text", "value"), EXPECTED, ids=lambda value: str(value)[:30])
def test_values_of_json_are_exact(kind: Any, text: str, value: Any) -> None:
    """A value is what the message says, or the message is not a record."""
    (found,) = without_spark([b'{"f":%b}' % text.encode()], contract_of(kind), TopicSettings(format="json"))
    assert found == (INVALID if value is INVALID else comparable({"f": value, "last": None}))


# Values of each type, by what its name begins with.
SAMPLES: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int date": (datetime.date(2013, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "int": (0, 1, 86_399_999),
    "long timestamp-nanos": (0, 2**62),
    "long local-timestamp-nanos": (0, 2**62),
    "long timestamp": (NOON, datetime.datetime(1901, 2, 3, 4, 5, 6, 7000, tzinfo=UTC)),
    "long local": (NOON.replace(tzinfo=None),),
    "long": (0, 86_399_999_999),
    "float": (0.5, -1.5, float("nan"), float("inf")),
    "double": (0.1, 1e300, float("nan"), float("-inf")),
    "bytes decimal": (Decimal("1.23"), Decimal("-999.99"), Decimal("0.00")),
    "fixed decimal": (Decimal("1.23"), Decimal("-999.99")),
    "bytes": (b"", b"\x00\xff\x01"),
    "string uuid": ("6f1ed002-ab58-4b1f-9c0f-1a2b3c4d5e6f",),
    "string or boolean": ({"member0": "x", "member1": None}, {"member0": None, "member1": True}),
    "string": ("", "日本\U0001f600"),
    "enum": ("RED", "x"),
    "fixed duration": (b"\x01" * 12,),
    "fixed uuid": (b"\x01" * 16,),
    "fixed": (b"\x00\xff\x01",),
    "array of optional": (["a", None], []),
    "array of records": ([{"a": [("k", 1)]}], []),
    "array": ([1, 2], []),
    "map": ([("k", 1), ("日", 2)], []),
    "record": ({"a": 1, "b": None, "c": 3}, {"a": -1, "b": "x", "c": 0}),
    "three": (
        None,
        {"member0": 1, "member1": None, "member2": None},
        {"member0": None, "member1": "x", "member2": None},
    ),
}


def samples(name: str) -> tuple[Any, ...]:
    """Return values of a type."""
    return SAMPLES[max((known for known in SAMPLES if name.startswith(known)), key=len)]


def rows_of(name: str, contract: Contract) -> pa.RecordBatch:
    """Return records with values of a type."""
    rows = [{"f": value, "last": "z"} for value in samples(name)]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(contract))


def damaged(data: bytes, draw: random.Random) -> list[bytes]:
    """Return a message and damaged ones: longer, shorter, and with other bytes."""
    longer = [data + more for more in (b"\x00", b"\xff", b"\x02z", data, bytes(16), bytes(40))]
    shorter = [data[:end] for end in range(len(data))]
    other = [
        data[:at] + bytes([byte]) + data[at + 1 :]
        for at in range(len(data))
        for byte in {0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF, draw.randrange(256)}
    ]
    inserted = [data[:at] + more + data[at:] for at in range(len(data)) for more in (b"\x00", b"\xff", b"\x80" * 3)]
    return [data, *longer, *shorter, *other, *inserted]


@pytest.mark.spark
@pytest.mark.parametrize("form", ["plain-avro", "avro", "confluent"])
def test_messages_of_avro_mean_the_same_to_both_decoders(spark: SparkSession, form: Any) -> None:
    """Records of each type, and their bytes damaged in each place."""
    settings = TopicSettings(format=form)
    # The formats differ in the header only.
    types = TYPES | BINARY_ONLY if form == "plain-avro" else {"long": "long", "string": "string"}
    draw = random.Random(1)
    wrong: dict[str, list[str]] = {}
    for name, kind in types.items():
        contract = contract_of(kind)
        rows = rows_of(name, contract)
        whole = wire_of(contract, settings).encode(rows, contract)
        messages = [data for message in whole for data in damaged(message, draw)]
        plain = without_spark(messages, contract, settings)
        assert without_spark(whole, contract, settings) == [comparable(row) for row in rows.to_pylist()]
        found = with_spark(spark, messages, contract, settings)
        if "boolean" in name or name in ("int", "int time-millis"):
            # Avro's Java library takes each byte but 1 for false, and drops what an `int` has beyond 32 bits. The
            # decoder without Spark refuses both (docs/kafka.md).
            found = [INVALID if other == INVALID else one for one, other in zip(found, plain, strict=True)]
        wrong[name] = differences(messages, found, plain)
    assert_agreed(wrong)


@pytest.mark.spark
@pytest.mark.parametrize("form", ["json", "plain-avro"])
def test_records_that_spark_writes_are_read_exactly(spark: SparkSession, form: Any) -> None:
    """Each type, written by Spark and without it, is read as it was by both decoders."""
    settings = TopicSettings(format=form)
    for name, kind in TYPES.items():
        contract = contract_of(kind)
        rows = rows_of(name, contract)
        frame = spark.createDataFrame(pa.Table.from_batches([rows]), spark_schema(contract))
        sent = frame.select(message(topic_of(contract, settings), contract, ()))
        by_spark = [bytes(row[0]) for row in sent.select(f"{MESSAGE}.value").collect()]
        plainly = wire_of(contract, settings).encode(rows, contract)
        expected = [comparable(row) for row in rows.to_pylist()]
        assert without_spark(by_spark, contract, settings) == expected, name
        assert without_spark(plainly, contract, settings) == expected, name
        assert with_spark(spark, [*by_spark, *plainly], contract, settings) == expected * 2, name


@pytest.mark.spark
def test_messages_of_single_fields_mean_the_same_to_both_decoders(spark: SparkSession) -> None:
    """Bytes are any, strings are UTF-8."""
    settings = TopicSettings(format="bytes")
    messages = [
        b"",
        b"x",
        "日本\U0001f600".encode(),
        b"\xff",
        b"a\x00",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xf4\x90\x80\x80",
    ]
    from blueprint.avro import parse_contract

    for kind in ("bytes", "string"):
        contract = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]}))
        plain = without_spark(messages, contract, settings)
        assert differences(messages, with_spark(spark, messages, contract, settings), plain) == []
