"""Avro contracts as Spark and Arrow types: the one table of `blueprint.avro.spark_types`, made into objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from blueprint.avro.model import Array, Contract, Enum, Fixed, Map, Named, Primitive, Record, Schema, Union
from streamlets.contract.errors import ContractError, Misfit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType


NULL = Primitive("null")


def optional(schema: Schema, contract: Contract) -> tuple[Schema, bool]:
    """What a column of this schema holds, and whether it may be null.

    `null` is taken out of a union; one branch that stays is the schema itself, `int` with `long` are `long`,
    `float` with `double` are `double` (spark-avro's rules). A name is followed to its definition.
    """
    if isinstance(schema, Named):
        return contract.names[schema.name], False
    if isinstance(schema, Primitive) and schema.type == "null":
        return NULL, True
    if not isinstance(schema, Union):
        return schema, False
    nullable = any(is_null(branch) for branch in schema.branches)
    rest = tuple(branch for branch in schema.branches if not is_null(branch))
    if not rest:
        return NULL, True
    if len(rest) == 1:
        return optional(rest[0], contract)[0], nullable
    plain = {b.type for b in rest if isinstance(b, Primitive) and b.logical is None}
    if len(rest) == 2 and plain in ({"int", "long"}, {"float", "double"}):
        return Primitive("long" if "long" in plain else "double"), nullable
    return Union(rest), nullable


def is_null(schema: Schema) -> bool:
    """Whether this is the type `null`."""
    return isinstance(schema, Primitive) and schema.type == "null"


def member(index: int) -> str:
    """The name of a union struct's field for the branch `index` (counted without `null`)."""
    return f"member{index}"


def spark_schema(contract: Contract) -> StructType:
    """The contract's records as Spark's struct.

    Raises:
        ContractError: a type that Spark cannot carry (recursive ones).
    """
    from pyspark.sql.types import StructType

    struct = spark_type(contract.record, contract)
    assert isinstance(struct, StructType)
    return struct


def spark_type(schema: Schema, contract: Contract) -> DataType:
    """The Spark type of one part of a contract (whether it may be null is for its holder to say)."""
    from pyspark.sql import types as t

    def build(part: Schema, records: frozenset[str]) -> DataType:
        held, _ = optional(part, contract)
        match held:
            case Record(fields=fields):
                inner = _enter(held, contract, records)
                return t.StructType(
                    [t.StructField(f.name, build(f.schema, inner), optional(f.schema, contract)[1]) for f in fields]
                )
            case Array(items=items):
                return t.ArrayType(build(items, records), optional(items, contract)[1])
            case Map(values=values):
                return t.MapType(t.StringType(), build(values, records), optional(values, contract)[1])
            case Union(branches=branches):
                return t.StructType([t.StructField(member(i), build(b, records)) for i, b in enumerate(branches)])
        name = leaf_name(held)
        decimal = _DECIMAL.fullmatch(name)
        if decimal:
            return t.DecimalType(int(decimal[1]), int(decimal[2]))
        leaves: dict[str, type[DataType]] = {
            "void": t.NullType,
            "boolean": t.BooleanType,
            "int": t.IntegerType,
            "bigint": t.LongType,
            "float": t.FloatType,
            "double": t.DoubleType,
            "binary": t.BinaryType,
            "string": t.StringType,
            "date": t.DateType,
            "timestamp": t.TimestampType,
            "timestamp_ntz": t.TimestampNTZType,
        }
        return leaves[name]()

    return build(schema, frozenset())


def arrow_schema(contract: Contract) -> pa.Schema:
    """The contract's records as Arrow has them on the way into Spark (timestamps are `timestamp[us, tz=UTC]`).

    Raises:
        ContractError: a type that Spark cannot carry (recursive ones).
    """
    import pyarrow as pa

    return pa.schema(list(arrow_type(contract.record, contract)))


def arrow_type(schema: Schema, contract: Contract) -> pa.DataType:
    """The Arrow type of one part of a contract. Needs no Spark."""
    import pyarrow as pa

    def build(part: Schema, records: frozenset[str]) -> pa.DataType:
        held, _ = optional(part, contract)
        match held:
            case Record(fields=fields):
                inner = _enter(held, contract, records)
                return pa.struct(
                    [pa.field(f.name, build(f.schema, inner), optional(f.schema, contract)[1]) for f in fields]
                )
            case Array(items=items):
                return pa.list_(pa.field("element", build(items, records), optional(items, contract)[1]))
            case Map(values=values):
                return pa.map_(pa.string(), pa.field("value", build(values, records), optional(values, contract)[1]))
            case Union(branches=branches):
                return pa.struct([pa.field(member(i), build(b, records)) for i, b in enumerate(branches)])
        return arrow_leaf(held)

    return build(schema, frozenset())


def arrow_leaf(schema: Primitive | Enum | Fixed) -> pa.DataType:
    """The Arrow type that holds an Avro type without parts."""
    import pyarrow as pa

    name = leaf_name(schema)
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return {
        "void": pa.null(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "binary": pa.binary(),
        "string": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }[name]


def _enter(record: Record, contract: Contract, records: frozenset[str]) -> frozenset[str]:
    if record.name in records:
        reason = f"the record `{record.name}` holds itself, and Spark has no recursive types"
        raise ContractError(contract.record.name, (Misfit("", reason, "leave the inner reference out"),))
    return records | {record.name}


_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")

_PLAIN = {
    "null": "void",
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}

_LOGICAL = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp_ntz",
    ("long", "local-timestamp-micros"): "timestamp_ntz",
}


def leaf_name(schema: Primitive | Enum | Fixed) -> str:
    """Spark's name of the type that holds an Avro type without parts, such as `bigint` or `decimal(9,2)`."""
    match schema:
        case Enum():
            return "string"
        case Primitive(logical=logical) | Fixed(logical=logical) if logical and logical.name == "decimal":
            return f"decimal({logical.precision},{logical.scale or 0})"
        case Fixed():
            return "binary"
        case Primitive(type=name, logical=logical):
            return _LOGICAL.get((name, logical.name), _PLAIN[name]) if logical else _PLAIN[name]
