"""Records as JSON values, in the form that the codec `json-lines` of spouts reads."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

from blueprint.avro.model import Array, Contract, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional

Change = Callable[[Any], Any]


def json_row(contract: Contract) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the function that makes JSON values of a record.

    Bytes become Base64, times ISO 8601, decimals, NaN and infinities strings, and maps objects. A union of several
    types keeps its members, such as `{"member1": "x"}`, so that a reader knows the type.

    Arguments:
        contract: the contract of the records, whose values have the Python types of Arrow.
    """
    changes = {field.name: _change(field.schema, contract, plain=False) for field in contract.record.fields}
    return lambda row: {name: _changed(row[name], change) for name, change in changes.items()}


def comparable_row(contract: Contract) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the function that makes JSON values of a record which are equal if and only if the records are.

    As `json_row`, but of a union only the value counts, and the order of the pairs in a map does not.

    Arguments:
        contract: as for `json_row`.
    """
    changes = {field.name: _change(field.schema, contract, plain=True) for field in contract.record.fields}
    return lambda row: {name: _changed(row[name], change) for name, change in changes.items()}


def cell_text(value: Any) -> str:
    """Return a JSON value as the text of a cell in a CSV file: null is empty, and values with parts are JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _changed(value: Any, change: Change | None) -> Any:
    return value if change is None or value is None else change(value)


def _change(schema: Schema, contract: Contract, *, plain: bool) -> Change | None:
    """Return the function that makes a JSON value of a value that is not null; None if there is nothing to do."""
    held, _ = optional(schema, contract)
    match held:
        case Record(fields=fields):
            changes = {field.name: _change(field.schema, contract, plain=plain) for field in fields}
            return lambda record: {name: _changed(record[name], change) for name, change in changes.items()}
        case Array(items=items):
            item = _change(items, contract, plain=plain)
            return item and (lambda values: [_changed(value, item) for value in values])
        case Map(values=values):
            inner = _change(values, contract, plain=plain)
            return lambda pairs: {key: _changed(value, inner) for key, value in _pairs(pairs, ordered=plain)}
        case Union(branches=branches):
            members = {member(number): _change(one, contract, plain=plain) for number, one in enumerate(branches)}
            return _only_value(members) if plain else _member(members)
        case Primitive(type="boolean" | "int" | "long" | "string", logical=None):
            return None
        case _:
            return _leaf


def _pairs(value: Any, *, ordered: bool) -> list[tuple[str, Any]]:
    pairs = value.items() if isinstance(value, Mapping) else value
    return sorted(pairs, key=lambda pair: pair[0]) if ordered else list(pairs)


def _member(members: Mapping[str, Change | None]) -> Change:
    return lambda union: {
        name: _changed(union[name], change) for name, change in members.items() if union.get(name) is not None
    }


def _only_value(members: Mapping[str, Change | None]) -> Change:
    def only_value(union: Mapping[str, Any]) -> Any:
        name = next(name for name in members if union.get(name) is not None)
        return _changed(union[name], members[name])

    return only_value


def _leaf(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, int | str) else str(value)
