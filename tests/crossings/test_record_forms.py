"""Records as dicts and as Arrow batches: every Arrow type crossed with every type of a contract. A batch publishes what
its rows would publish as dicts, and refuses what they refuse."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro import Contract, parse_contract
from streamlets.contract.typed_batch import typed_batch
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import RecordError, Values

_INSTANT = datetime.datetime(2026, 11, 23, 22, 46, 39, 123456, tzinfo=datetime.UTC)
_COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [1, -2]),
    "int32": (pa.int32(), [1, -(2**31)]),
    "int64": (pa.int64(), [1, 2]),
    "int64-large": (pa.int64(), [2**31, 2**53 + 1]),
    "uint64-large": (pa.uint64(), [2**63]),
    "float32": (pa.float32(), [1.0, 0.5]),
    "float64": (pa.float64(), [1.5, float("inf")]),
    "float64-whole": (pa.float64(), [1.0, 2.0]),
    "boolean": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["a", "1"]),
    "large-string": (pa.large_string(), ["RED", "RED"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["RED", "GREEN"]),
    "binary": (pa.binary(), [b"ab", b"cd"]),
    "fixed-binary": (pa.binary(2), [b"ab", b"cd"]),
    "date": (pa.date32(), [_INSTANT.date()]),
    "timestamp-us-utc": (pa.timestamp("us", "UTC"), [_INSTANT]),
    "timestamp-ms-utc": (pa.timestamp("ms", "UTC"), [_INSTANT.replace(microsecond=123000)]),
    "timestamp-us": (pa.timestamp("us"), [_INSTANT.replace(tzinfo=None)]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.25")]),
    "decimal-wider": (pa.decimal128(20, 3), [Decimal("1.255")]),
    "list": (pa.list_(pa.int64()), [[1], []]),
    "struct": (pa.struct([("b", pa.string()), ("a", pa.int64())]), [{"b": "x", "a": 1}]),
    "null": (pa.null(), [None]),
}
_TYPES: dict[str, Any] = {
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "fixed": {"type": "fixed", "name": "F", "size": 2},
    "enum": {"type": "enum", "name": "E", "symbols": ["RED"]},
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "local-timestamp": {"type": "long", "logicalType": "local-timestamp-micros"},
    "decimal": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    "array": {"type": "array", "items": "int"},
    "record": {
        "type": "record",
        "name": "S",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}],
    },
}


def _contract(schema: str) -> Contract:
    parsed = parse_contract(schema)
    assert isinstance(parsed, Contract)
    return parsed


def _as_dicts(batch: pa.RecordBatch, contract: Contract) -> list[dict[str, Any]] | None:
    """Return what the rows of a batch publish as dicts; None if one of them is refused."""
    values = Values(contract)
    try:
        records = [values.record(row, contract.record) for row in batch.to_pylist(maps_as_pydicts="strict")]
    except RecordError:
        return None
    rows: list[dict[str, Any]] = pa.RecordBatch.from_pylist(records, schema=arrow_schema(contract)).to_pylist()
    return rows


@pytest.mark.parametrize("nullable", [False, True], ids=["required", "nullable"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with-null"])
def test_a_batch_publishes_what_its_rows_would_publish_as_dicts(nullable: bool, missing: bool) -> None:
    """A batch is passed on as it is only if the dicts of its rows give the same records."""
    passed = 0
    for (column, (kind, values)), (name, schema) in product(_COLUMNS.items(), _TYPES.items()):
        held = ["null", schema] if nullable else schema
        contract = _contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": held}]}))
        array = pa.array([*values, None] if missing else values, kind)
        batch = pa.RecordBatch.from_arrays([array], names=["v"])
        typed = typed_batch(batch, contract)
        if typed is not None:
            assert typed.schema == arrow_schema(contract), (column, name)
            assert typed.to_pylist() == _as_dicts(batch, contract), (column, name)
            passed += 1
    assert passed == 0 if missing and not nullable else passed > 15


def test_numbers_of_another_kind_are_not_published_as_integers() -> None:
    """Floats, booleans and decimals are refused for `long`, as they are in dicts."""
    contract = _contract('{"type": "record", "name": "R", "fields": [{"name": "v", "type": "long"}]}')
    for column in ("float32", "float64", "float64-whole", "boolean", "decimal", "string"):
        kind, values = _COLUMNS[column]
        batch = pa.RecordBatch.from_arrays([pa.array(values, kind)], names=["v"])
        assert typed_batch(batch, contract) is None, column
        assert _as_dicts(batch, contract) is None, column


def test_columns_are_found_by_name() -> None:
    """The order of columns does not matter; one too few or too many is left to the conversion of rows."""
    fields = [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]
    contract = _contract(json.dumps({"type": "record", "name": "R", "fields": fields}))
    turned = typed_batch(pa.record_batch({"b": ["x"], "a": [1]}), contract)
    assert turned is not None and turned.to_pylist() == [{"a": 1, "b": "x"}]
    assert typed_batch(pa.record_batch({"a": [1]}), contract) is None
    assert typed_batch(pa.record_batch({"a": [1], "b": ["x"], "c": [1]}), contract) is None
