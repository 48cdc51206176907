"""Avro contracts as Spark and Arrow types: the one table of `blueprint.avro.spark_types`, made into objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from blueprint.avro.model import Array, Contract, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import leaf_name, member, optional
from streamlets.contract.errors import ContractError, Misfit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType


def is_null(schema: Schema) -> bool:
    """Whether this is the type `null`."""
    return isinstance(schema, Primitive) and schema.type == "null"


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

    Every field may be null: Arrow asks for values under null records, too, so it cannot say what Avro means.

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
                return pa.struct([pa.field(f.name, build(f.schema, inner)) for f in fields])
            case Array(items=items):
                return pa.list_(pa.field("element", build(items, records)))
            case Map(values=values):
                return pa.map_(pa.string(), pa.field("value", build(values, records)))
            case Union(branches=branches):
                return pa.struct([pa.field(member(i), build(b, records)) for i, b in enumerate(branches)])
        return arrow_leaf(held)

    return build(schema, frozenset())


def arrow_leaf(schema: Schema) -> pa.DataType:
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
