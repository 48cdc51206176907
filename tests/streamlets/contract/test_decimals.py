"""Decimals keep all of their digits: Python's default context has 28, Spark 38."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro import parse_contract
from streamlets.contract import arrow_schema, resolver
from streamlets.contract.decimals import bytes_of, decimal_of
from tests.streamlets.contract.cases import record

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
LONGEST = Decimal("123456789012345678901234567890123456.78")
DATA = (12345678901234567890123456789012345678).to_bytes(16, "big", signed=True)


def read(written: Any, writer: Any, reader: Any) -> Any:
    """Return a value as a reader reads it."""
    old, new = (parse_contract(json.dumps(one)) for one in (record(writer), record(reader)))
    batch = pa.RecordBatch.from_pylist([{"id": 1, "f": written}], schema=arrow_schema(old))
    return resolver(old, new)(batch).to_pylist()[0]["f"]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_longest_decimals_go_to_bytes_and_back(sign: int) -> None:
    """No digit is rounded, with any sign."""
    assert decimal_of(bytes_of(LONGEST.copy_sign(sign), 2), 2) == LONGEST.copy_sign(sign)


def test_the_longest_decimals_are_read_as_bytes_and_bytes_as_them() -> None:
    """The underlying value of a decimal is unchanged if the logical types differ, as in Avro."""
    assert read(LONGEST, DECIMAL, "bytes") == DATA
    assert read(DATA, "bytes", DECIMAL) == LONGEST


def test_a_default_of_the_longest_decimals_is_taken_whole() -> None:
    """All digits of a reader's default in JSON are used."""
    old = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}))
    field = {"name": "f", "type": DECIMAL, "default": DATA.decode("latin-1")}
    new = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, field]}))
    rows = pa.RecordBatch.from_pylist([{"id": 1}], schema=arrow_schema(old))
    assert resolver(old, new)(rows).to_pylist() == [{"id": 1, "f": LONGEST}]
