"""Keys of messages: Spark and Python make the same."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from streamlets.channels.kafka.keys import key_column, key_function
from streamlets.contract.types import arrow_schema, spark_schema
from tests.streamlets.channels.topics import READING, batch, contract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW = contract(
    ("id", "long"),
    ("name", ["null", "string"]),
    ("data", "bytes"),
    ("flag", "boolean"),
    ("day", {"type": "int", "logicalType": "date"}),
    ("at", {"type": "long", "logicalType": "timestamp-micros"}),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
)
VALUES: list[dict[str, Any]] = [
    {
        "id": -5,
        "name": 'é"',
        "data": b"\x00\xff",
        "flag": True,
        "day": datetime.date(2013, 7, 1),
        "at": datetime.datetime(2013, 7, 1, 12, 0, 0, 7, tzinfo=datetime.UTC),
        "price": Decimal("-12.30"),
    },
    {
        "id": 7,
        "name": None,
        "data": b"",
        "flag": False,
        "day": datetime.date(1970, 1, 1),
        "at": datetime.datetime(1969, 12, 31, tzinfo=datetime.UTC),
        "price": Decimal("0.00"),
    },
]
EXPECTED: dict[tuple[str, ...], list[bytes | None]] = {
    (): [None, None],
    ("id",): [b"-5", b"7"],
    ("name",): ['é"'.encode(), None],
    ("data",): [b"\x00\xff", b""],
    ("flag",): [b"true", b"false"],
    ("day",): [b"2013-07-01", b"1970-01-01"],
    ("at",): [b"1372680000000007", b"-86400000000"],
    ("price",): [b"-12.30", b"0.00"],
    ("ID", "name", "flag"): ['["-5","é\\"","true"]'.encode(), b'["7",null,"false"]'],
}


def rows() -> pa.RecordBatch:
    """Return the rows as Arrow."""
    return pa.RecordBatch.from_pylist(VALUES, schema=arrow_schema(ROW))


@pytest.mark.parametrize("columns", EXPECTED, ids=lambda columns: "-".join(columns) or "none")
def test_keys_without_spark(columns: tuple[str, ...]) -> None:
    """The key of each type is as documented."""
    assert key_function(ROW, columns)(rows()) == EXPECTED[columns]


@pytest.mark.spark
def test_keys_with_spark(spark: SparkSession) -> None:
    """They are the same bytes, whatever the time zone of the session."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = session.createDataFrame(pa.Table.from_batches([rows()]), schema=spark_schema(ROW))
    keys = [key_column(spark_schema(ROW), columns).alias(f"k{n}") for n, columns in enumerate(EXPECTED)]
    found = [[bytes(key) if key is not None else None for key in row] for row in frame.select(*keys).collect()]
    assert [list(keys) for keys in zip(*found, strict=True)] == list(EXPECTED.values())


def test_an_expression_needs_spark() -> None:
    """A write without Spark cannot evaluate it, and does not send records without their key."""
    with pytest.raises(ValueError, match="found the expression `id % 4`"):
        key_function(READING, ("id % 4",))
    assert key_function(READING, ("src",))(batch([3])) == [b"s3"]
