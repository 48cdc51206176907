"""Spark and Arrow types of Avro contracts, created from the table in `blueprint.avro.spark_types`."""

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
    """Return whether a schema is the type `null`."""
    return isinstance(schema, Primitive) and schema.type == "null"


def spark_schema(contract: Contract) -> StructType:
    """Return the Spark type of a contract's records.

    Raises:
        ContractError: a type is recursive, which Spark cannot represent.
    """
    from pyspark.sql.types import StructType

    struct = spark_type(contract.record, contract)
    assert isinstance(struct, StructType)
    return struct


def spark_type(schema: Schema, contract: Contract) -> DataType:
    """Return the Spark type of a part of a contract, without its nullability.

    Arguments:
        schema: the part.
        contract: the contract that defines the names in it.
    """
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
    """Return the Arrow schema of a contract's records, as passed to Spark (timestamps are `timestamp[us, tz=UTC]`).

    Every field is nullable, because Arrow also requires values of non-null fields under null records.

    Raises:
        ContractError: a type is recursive, which Spark cannot represent.
    """
    import pyarrow as pa

    return pa.schema(list(arrow_type(contract.record, contract)))


def arrow_type(schema: Schema, contract: Contract) -> pa.DataType:
    """Return the Arrow type of a part of a contract, without Spark.

    Arguments:
        schema: the part.
        contract: the contract that defines the names in it.
    """
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
    """Return the Arrow type of an Avro type without parts."""
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
        reason = f"the record `{record.name}` contains itself, and Spark has no recursive types"
        raise ContractError(contract.record.name, (Misfit("", reason, "remove the inner reference"),))
    return records | {record.name}


_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
