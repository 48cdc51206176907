"""The table of Avro types and Spark types, as plain data.

It is the conversion of spark-avro (`SchemaConverters`) with one exception: where Spark's type is disabled by default
(TIME and timestamps of nanoseconds, Spark 4.3), the column contains the plain Avro number. The null of a union makes
the column nullable. The other branches become the type of the only branch, `bigint` for `int` and `long`, `double` for
`float` and `double`, and otherwise a struct with one field `member<n>` per branch, exactly one of which is not null.
`types_page` generates the documentation from the table; `spark_problems` reports what Spark cannot represent.
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
"""(Avro type, logical type) to Spark's name of the type and a remark."""

NESTED: tuple[tuple[str, str, str], ...] = (
    ("record", "struct<...>", "one field per Avro field, in order; NOT NULL unless its type includes null"),
    ("array", "array<...>", "items are nullable only if the Avro type of the items includes null"),
    ("map", "map<string, ...>", "values are nullable only if the Avro type of the values includes null"),
    ("[null, T]", "T, nullable", "null may be any branch of the union"),
    ("[int, long]", "bigint", "in any order; nullable if null is a branch"),
    ("[float, double]", "double", "in any order; nullable if null is a branch"),
    ("[A, B, ...]", "struct<member0 A, member1 B, ...>", "null is not counted; exactly one member is not null"),
)
"""Types with parts, Spark's type, and a remark."""

_NULL = Primitive("null")

# Names in `StructType.jsonValue()` that differ from DDL.
_JSON_NAMES = {"int": "integer", "bigint": "long"}


def optional(schema: Schema, contract: Contract) -> tuple[Schema, bool]:
    """Return the type of a column (without null, names resolved) and whether it is nullable."""
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
    """Return the name of the field for branch `index` of a union, counted from 0 without null."""
    return f"member{index}"


def leaf_name(schema: Schema) -> str:
    """Return the name of the Spark type, as in DDL, of a type without parts: `bigint`, `decimal(9,2)`."""
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
    """Return the records as Spark's struct, in the form of `StructType.jsonValue()`.

    Raises:
        ValueError: a record contains itself, which `spark_problems` reports.
    """
    struct = _json(contract.record, contract, ())
    assert isinstance(struct, dict)
    return struct


def spark_ddl(contract: Contract) -> str:
    """Return the records as columns in Spark DDL: `src string, ts timestamp NOT NULL`.

    Raises:
        ValueError: a record contains itself, which `spark_problems` reports.
    """
    return ", ".join(_ddl_columns(contract.record, contract, (), " "))


def spark_columns(contract: Contract) -> dict[str, str]:
    """Return the type of each column of the records in Spark DDL, by name.

    Raises:
        ValueError: a record contains itself, which `spark_problems` reports.
    """
    inside = _enter(contract.record, ())
    return {field.name: _ddl(field.schema, contract, inside) for field in contract.record.fields}


def wider_of(rest: tuple[Schema, ...]) -> str | None:
    """Return the number type into which spark-avro merges two branches; None if it does not merge them."""
    kinds = {branch.type for branch in rest if isinstance(branch, Primitive)}
    if len(rest) == 2 and kinds in ({"int", "long"}, {"float", "double"}):
        return "long" if "long" in kinds else "double"
    return None


def _json(schema: Schema, contract: Contract, around: tuple[str, ...]) -> Any:
    held, _ = optional(schema, contract)
    match held:
        case Record(fields=fields):
            inside = _enter(held, around)
            return {"type": "struct", "fields": [_json_field(f.name, f.schema, contract, inside) for f in fields]}
        case Union(branches=branches):
            members = [_json(branch, contract, around) for branch in branches]
            named = [{"name": member(n), "type": m, "nullable": True, "metadata": {}} for n, m in enumerate(members)]
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
            members = (f"{member(n)}: {_ddl(branch, contract, around)}" for n, branch in enumerate(branches))
            return f"struct<{', '.join(members)}>"
        case Array(items=items):
            return f"array<{_ddl(items, contract, around)}>"
        case Map(values=values):
            return f"map<string, {_ddl(values, contract, around)}>"
    return leaf_name(held)


def _ddl_columns(record: Record, contract: Contract, around: tuple[str, ...], between: str) -> Iterator[str]:
    inside = _enter(record, around)
    for field in record.fields:
        null = "" if optional(field.schema, contract)[1] else " NOT NULL"
        yield f"{field.name}{between}{_ddl(field.schema, contract, inside)}{null}"


def _enter(record: Record, around: tuple[str, ...]) -> tuple[str, ...]:
    if record.name in around:
        raise ValueError(f"the record `{record.name}` contains itself, and Spark has no recursive types")
    return (*around, record.name)
