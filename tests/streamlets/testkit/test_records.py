"""Records as plain data: conversion to Arrow and back, and invalid records."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Span
from streamlets.testkit import RecordError
from streamlets.testkit.records import from_batches, to_batches

UTC = datetime.UTC


def contract(*fields: dict[str, Any]) -> Contract:
    """Return the contract of a record with these fields."""
    schema = {"type": "record", "name": "R", "fields": list(fields)}
    loaded = load_contract(schema, base_directory=Path("/"), declared=Span("<test>", 1, 1, 1, 1))
    assert loaded.contract is not None, loaded.problems
    return loaded.contract


def single_field(kind: object, **more: object) -> Contract:
    """Return the contract of a record with one field `f`."""
    return contract({"name": "f", "type": kind} | more)


def round_trip(value: object, schema: Contract) -> object:
    """Convert a value to Arrow and back."""
    return from_batches(to_batches([{"f": value}], schema), schema)[0]["f"]


INNER = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 2**31 - 1, 2**31 - 1),
        ("long", -(2**63), -(2**63)),
        ("double", 1, 1.0),
        ("boolean", True, True),
        ("string", "ü", "ü"),
        ("bytes", b"\x00", b"\x00"),
        (["null", "string"], None, None),
        (["null", "string"], "x", "x"),
        (["int", "string"], "x", "x"),
        (["int", "string"], 5, 5),
        (["null", "int", "string"], None, None),
        (INNER, {"a": 1}, {"a": 1}),
        ({"type": "array", "items": ["null", "int"]}, [1, None], [1, None]),
        ({"type": "map", "values": "long"}, {"a": 1}, {"a": 1}),
        ({"type": "map", "values": ["int", "string"]}, {"a": 1, "b": "x"}, {"a": 1, "b": "x"}),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab", b"ab"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, "1.5", Decimal("1.50")),
        ({"type": "int", "logicalType": "date"}, "2013-01-01", datetime.date(2013, 1, 1)),
        ({"type": "int", "logicalType": "date"}, datetime.datetime(2013, 1, 1, 5), datetime.date(2013, 1, 1)),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            "2013-01-01T06:00:00+01:00",
            datetime.datetime(2013, 1, 1, 5, tzinfo=UTC),
        ),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            datetime.datetime(2013, 1, 1, 5),
            datetime.datetime(2013, 1, 1, 5, tzinfo=UTC),
        ),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            datetime.datetime(2013, 1, 1, 5),
            datetime.datetime(2013, 1, 1, 5),
        ),
        ({"type": "int", "logicalType": "time-millis"}, datetime.time(0, 0, 1), 1000),
        ({"type": "long", "logicalType": "time-micros"}, "00:00:01", 1_000_000),
    ],
)
def test_a_value_survives_the_round_trip(kind: object, value: object, expected: object) -> None:
    """Unions become the plain value, times have a zone."""
    result = round_trip(value, single_field(kind))
    assert result == expected and type(result) is type(expected)


def test_a_missing_field_gets_its_default_or_null() -> None:
    """A reader with the schema would get the same."""
    schema = contract(
        {"name": "a", "type": "int", "default": 7},
        {"name": "b", "type": ["null", "string"], "default": None},
        {"name": "c", "type": ["string", "null"]},
        {"name": "d", "type": {"type": "map", "values": "int"}, "default": {"x": 1}},
    )
    assert from_batches(to_batches([{}], schema), schema) == [{"a": 7, "b": None, "c": None, "d": {"x": 1}}]


@pytest.mark.parametrize(
    ("kind", "record", "message"),
    [
        ("int", {"g": 1}, "record 1, `R` has no field `g`; "),
        ("int", {}, "record 1, `f`: is missing and has no default"),
        ("int", {"f": None}, "record 1, `f`: is null, and the schema does not allow null"),
        ("int", {"f": 2**31}, "record 1, `f`: is 2147483648, out of range for `int`"),
        ("int", {"f": True}, "record 1, `f`: is a `bool` (True), expected `int`"),
        ("int", {"f": 1.5}, "record 1, `f`: is a `float` (1.5), expected `int`"),
        ("string", {"f": 5}, "record 1, `f`: is a `int` (5), expected `string`"),
        (INNER, {"f": {"a": "x"}}, "record 1, `f.a`: is a `str` ('x'), expected `int`"),
        ({"type": "array", "items": "int"}, {"f": [1, "x"]}, "record 1, `f[1]`: is a `str` ('x'), expected `int`"),
        ({"type": "map", "values": "int"}, {"f": {"k": "x"}}, "record 1, `f['k']`: is a `str` ('x'), expected `int`"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, {"f": "B"}, "record 1, `f`: 'B' is not a symbol of `E` (A)"),
        ({"type": "fixed", "name": "F", "size": 2}, {"f": b"a"}, "record 1, `f`: 1 byte, expected 2 for `F`"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 2},
            {"f": "12.34"},
            "record 1, `f`: 12.34 does not fit decimal(3,2)",
        ),
        (["int", "string"], {"f": 1.5}, "record 1, `f`: does not match any branch of its union: "),
        ({"type": "int", "logicalType": "date"}, {"f": "soon"}, "record 1, `f`: Invalid isoformat string: 'soon'"),
        ("int", 5, "record 1 must be a dict by field name, found `int`"),
    ],
)
def test_a_record_that_breaks_the_schema_is_an_error(kind: object, record: object, message: str) -> None:
    """The message has the path of the field and the reason."""
    with pytest.raises(RecordError) as raised:
        to_batches([record], single_field(kind))
    assert str(raised.value).startswith(message)


def test_tables_and_data_frames_are_records() -> None:
    """Arrow tables and batches and pandas DataFrames are accepted."""
    schema = single_field("long")
    table = pa.table({"f": [1, 2]})
    for records in (table, table.to_batches()[0], pd.DataFrame({"f": [1, 2]}), [{"f": 1}, {"f": 2}]):
        assert from_batches(to_batches(records, schema), schema) == [{"f": 1}, {"f": 2}]


@pytest.mark.parametrize("records", [{"f": 1}, "f", 5])
def test_other_values_are_errors(records: object) -> None:
    """Passing a single dict is a common mistake."""
    with pytest.raises(RecordError, match="records must be a list of dicts, an Arrow table or a DataFrame"):
        to_batches(records, single_field("int"))
