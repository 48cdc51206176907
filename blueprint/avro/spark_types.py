"""The one table from Avro types to Spark types, as plain data.

It is spark-avro's own conversion (`SchemaConverters`) with one rule beside it: where Spark's type stands behind a
switch that is off by default (TIME and timestamps of nanoseconds, Spark 4.3), the column holds the plain Avro number.
A union loses its null, which makes the column nullable; what remains is the one type left, `bigint` of `int` and
`long`, `double` of `float` and `double`, else a struct with one field `member<n>` for each branch, of which one is not
null. `types_page` makes the documentation from the table; `spark_problems` says what cannot be carried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blueprint.avro.model import (
    Array,
    Contract,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    type_text,
)

LEAVES: dict[tuple[str, str], tuple[str, str]] = {
    ("null", ""): ("void", ""),
    ("boolean", ""): ("boolean", ""),
    ("int", ""): ("int", ""),
    ("int", "date"): ("date", ""),
    ("int", "time-millis"): ("int", "milliseconds since midnight"),
    ("long", ""): ("bigint", ""),
    ("long", "time-micros"): ("bigint", "microseconds since midnight; Spark's TIME is off by default, Delta has none"),
    ("long", "timestamp-millis"): ("timestamp", ""),
    ("long", "timestamp-micros"): ("timestamp", ""),
    ("long", "timestamp-nanos"): ("bigint", "nanoseconds since 1970-01-01 UTC; Spark's own type is off by default"),
    ("long", "local-timestamp-millis"): ("timestamp_ntz", ""),
    ("long", "local-timestamp-micros"): ("timestamp_ntz", ""),
    ("long", "local-timestamp-nanos"): ("bigint", "nanoseconds since 1970-01-01; Spark's own type is off by default"),
    ("float", ""): ("float", ""),
    ("double", ""): ("double", ""),
    ("bytes", ""): ("binary", ""),
    ("bytes", "decimal"): ("decimal(p,s)", "precision up to 38"),
    ("bytes", "big-decimal"): ("binary", ""),
    ("string", ""): ("string", ""),
    ("string", "uuid"): ("string", ""),
    ("enum", ""): ("string", "one of the symbols"),
    ("fixed", ""): ("binary", "exactly `size` bytes"),
    ("fixed", "decimal"): ("decimal(p,s)", "precision up to 38"),
    ("fixed", "duration"): ("binary", "12 bytes"),
    ("fixed", "uuid"): ("binary", "16 bytes"),
}
"""(Avro type, logical type) to Spark's name of the type and what is to be said about it."""

NESTED: tuple[tuple[str, str, str], ...] = (
    ("record", "struct<...>", "one field for each, in order, NOT NULL unless its type may be null"),
    ("array", "array<...>", "items may be null only where the Avro type of the items may"),
    ("map", "map<string, ...>", "values may be null only where the Avro type of the values may"),
    ("[null, T]", "T, nullable", "the null may stand anywhere in the union"),
    ("[int, long]", "bigint", "in any order; nullable with null among them"),
    ("[float, double]", "double", "in any order; nullable with null among them"),
    ("[A, B, ...]", "struct<member0 A, member1 B, ...>", "null is not counted; exactly one member is not null"),
)
"""Types with parts, Spark's type, and what is to be said about it."""

_NULL = Primitive("null")

# Names of `StructType.jsonValue()` where they are not those of DDL.
_JSON_NAMES = {"int": "integer", "bigint": "long"}


def optional(schema: Schema, contract: Contract) -> tuple[Schema, bool]:
    """What a column of this schema holds, never a name, and whether it may be null."""
    held = contract.resolve(schema)
    if held == _NULL:
        return _NULL, True
    if not isinstance(held, Union):
        return held, False
    rest = tuple(branch for branch in held.branches if branch != _NULL)
    nullable = len(rest) < len(held.branches)
    if not rest:
        return _NULL, True
    if len(rest) == 1:
        return contract.resolve(rest[0]), nullable
    wider = wider_of(rest)
    return (Primitive(wider) if wider else Union(rest, held.span)), nullable


def member(index: int) -> str:
    """The field that holds branch `index` of a union, counted from 0 without null."""
    return f"member{index}"


def leaf_name(schema: Schema) -> str:
    """Spark's name, as in DDL, of the type of a schema without parts: `bigint`, `decimal(9,2)`."""
    match schema:
        case Enum():
            return LEAVES["enum", ""][0]
        case Primitive(logical=logical) | Fixed(logical=logical) if logical and logical.name == "decimal":
            return f"decimal({logical.precision},{logical.scale or 0})"
        case Fixed(logical=logical):
            return LEAVES["fixed", logical.name if logical else ""][0]
        case Primitive(type=name, logical=logical):
            return LEAVES[name, logical.name if logical else ""][0]
    raise TypeError(f"{type_text(schema)} has parts")


def spark_json(contract: Contract) -> dict[str, Any]:
    """The records as Spark's struct, in the form of `StructType.jsonValue()`.

    Raises ValueError for a record that holds itself; `spark_problems` names it before.
    """
    found = _json(contract.record, contract, ())
    assert isinstance(found, dict)
    return found


def spark_ddl(contract: Contract) -> str:
    """The records as columns in Spark's DDL: `src string, ts timestamp NOT NULL`. Raises as `spark_json`."""
    return ", ".join(_ddl_columns(contract.record, contract, (), " "))


def wider_of(rest: tuple[Schema, ...]) -> str | None:
    """The one number type that spark-avro makes of two branches; None when they stay two."""
    kinds = {one.type for one in rest if isinstance(one, Primitive)}
    if len(rest) == 2 and kinds in ({"int", "long"}, {"float", "double"}):
        return "long" if "long" in kinds else "double"
    return None


def _json(schema: Schema, contract: Contract, around: tuple[str, ...]) -> Any:
    held, _ = optional(schema, contract)
    match held:
        case Record(fields=fields):
            inside = _enter(held, around)
            columns = [(one.name, one.schema) for one in fields]
            return {"type": "struct", "fields": [_json_field(*one, contract, inside) for one in columns]}
        case Union(branches=branches):
            members = [_json(branch, contract, around) for branch in branches]
            named = [
                {"name": member(n), "type": one, "nullable": True, "metadata": {}} for n, one in enumerate(members)
            ]
            return {"type": "struct", "fields": named}
        case Array(items=items):
            inner, null = _json(items, contract, around), optional(items, contract)[1]
            return {"type": "array", "elementType": inner, "containsNull": null}
        case Map(values=values):
            inner, null = _json(values, contract, around), optional(values, contract)[1]
            return {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": null}
    name = leaf_name(held)
    return _JSON_NAMES.get(name, name)


def _json_field(name: str, schema: Schema, contract: Contract, around: tuple[str, ...]) -> dict[str, Any]:
    null = optional(schema, contract)[1]
    return {"name": name, "type": _json(schema, contract, around), "nullable": null, "metadata": {}}


def _ddl(schema: Schema, contract: Contract, around: tuple[str, ...]) -> str:
    held, _ = optional(schema, contract)
    match held:
        case Record():
            return f"struct<{', '.join(_ddl_columns(held, contract, around, ': '))}>"
        case Union(branches=branches):
            members = (f"{member(n)}: {_ddl(one, contract, around)}" for n, one in enumerate(branches))
            return f"struct<{', '.join(members)}>"
        case Array(items=items):
            return f"array<{_ddl(items, contract, around)}>"
        case Map(values=values):
            return f"map<string, {_ddl(values, contract, around)}>"
    return leaf_name(held)


def _ddl_columns(record: Record, contract: Contract, around: tuple[str, ...], between: str) -> Iterator[str]:
    inside = _enter(record, around)
    for one in record.fields:
        null = "" if optional(one.schema, contract)[1] else " NOT NULL"
        yield f"{one.name}{between}{_ddl(one.schema, contract, inside)}{null}"


def _enter(record: Record, around: tuple[str, ...]) -> tuple[str, ...]:
    if record.name in around:
        raise ValueError(f"the record `{record.name}` holds itself, and Spark has no recursive types")
    return (*around, record.name)
