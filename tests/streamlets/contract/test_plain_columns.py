"""Rows that are converted together: the same records as one by one, or no batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from streamlets.contract.plain_columns import PlainColumns
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import RecordError, Values
from tests.streamlets.channels.topics import contract

PLAIN = contract(("l", "long"), ("i", ["null", "int"]), ("s", "string"), ("d", ["null", "double"]), ("b", "boolean"))
ROW: dict[str, Any] = {"l": 1, "i": None, "s": "\u00e4", "d": 0.5, "b": True}


def one_by_one(rows: list[dict[str, Any]]) -> pa.RecordBatch | None:
    """Return the batch of rows, each converted by itself; None if one breaks the contract."""
    try:
        records = [Values(PLAIN).record(row, PLAIN.record) for row in rows]
    except RecordError:
        return None
    return pa.RecordBatch.from_pylist(records, schema=arrow_schema(PLAIN))


def test_plain_rows_are_converted_together() -> None:
    """With the result of the conversion one by one, whatever the order of the keys."""
    rows = [ROW, dict(reversed(ROW.items())), ROW | {"l": 2**63 - 1, "i": -(2**31), "d": float("inf"), "s": ""}]
    assert PlainColumns(PLAIN).batch(rows) == one_by_one(rows) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"l": "1"}, {"l": True}, {"l": 2**63}, {"l": None}, {"i": 2**31}, {"i": 1.0}, {"s": 5}, {"s": "\ud800"},
        {"d": 1}, {"d": "x"}, {"b": 0}, {"more": 1},
    ],
)  # fmt: skip
def test_other_rows_are_not(other: dict[str, Any]) -> None:
    """They break the contract, or need a conversion that is not the same for all values."""
    assert PlainColumns(PLAIN).batch([ROW, ROW | other]) is None


def test_rows_with_other_fields_are_not() -> None:
    """A missing field may have a default; something else than a dict is not a row."""
    assert PlainColumns(PLAIN).batch([{key: value for key, value in ROW.items() if key != "i"}]) is None
    assert PlainColumns(PLAIN).batch([tuple(ROW.items())]) is None  # type: ignore[list-item]


@pytest.mark.parametrize("type", ["bytes", "float", {"type": "array", "items": "int"}, ["int", "string"],
                                  {"type": "long", "logicalType": "timestamp-micros"}])  # fmt: skip
def test_contracts_that_are_not_plain(type: object) -> None:
    """Their rows are converted one by one."""
    assert PlainColumns(contract(("x", type))).batch([{"x": 1}]) is None
