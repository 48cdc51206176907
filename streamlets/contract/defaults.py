"""Conversion of a field's default from Avro's JSON form to a value, and of the value to a Spark column."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from blueprint.avro.defaults import branch_of
from blueprint.avro.model import Array, Contract, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from streamlets.contract.decimals import decimal_of

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

MILLIS = ("timestamp-millis", "local-timestamp-millis")


def default_value(json: object, schema: Schema, contract: Contract) -> object:
    """Return a default as a value for Arrow's builders.

    Records and maps become dicts, arrays lists, bytes and fixed bytes, and dates and times integers (days,
    microseconds). The default of a union belongs to the first branch that it matches.

    Arguments:
        json: the default in Avro's JSON form.
        schema: the type of the field.
        contract: the contract that defines the names in the type.
    """
    held, _ = optional(schema, contract)
    if json is None:
        return None
    match held:
        case Record(fields=fields):
            assert isinstance(json, dict)
            return {f.name: default_value(json.get(f.name, f.default), f.schema, contract) for f in fields}
        case Array(items=items):
            assert isinstance(json, list)
            return [default_value(item, items, contract) for item in json]
        case Map(values=values):
            assert isinstance(json, dict)
            return {key: default_value(value, values, contract) for key, value in json.items()}
        case Union(branches=branches):
            index = branch_of(json, held, contract.resolve)
            assert index is not None  # other defaults are rejected when a schema is loaded
            members: dict[str, object] = {member(i): None for i in range(len(branches))}
            return members | {member(index): default_value(json, branches[index], contract)}
        case Primitive(logical=logical) | Fixed(logical=logical) if logical and logical.name == "decimal":
            return decimal_of(str(json).encode("latin-1"), logical.scale or 0)
        case Fixed() | Primitive(type="bytes"):
            return str(json).encode("latin-1")
        case Primitive(logical=logical) if logical and logical.name in MILLIS and isinstance(json, int):
            return json * 1000
        case Primitive(type="float" | "double") if isinstance(json, int | str):
            return float(json)
        case _:
            return json


def column_of(value: object, target: DataType) -> Column:
    """Return a result of `default_value` as a column of the Spark type `target`."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    if value is None:
        return F.lit(None).cast(target)
    match target, value:
        case t.StructType(fields=fields), dict():
            return F.struct(*(column_of(value[f.name], f.dataType).alias(f.name) for f in fields))
        case t.ArrayType(elementType=element), list():
            return F.array(*(column_of(item, element) for item in value)).cast(target)
        case t.MapType(keyType=key, valueType=inner), dict():
            flat = [column for k, v in value.items() for column in (column_of(k, key), column_of(v, inner))]
            return F.create_map(*flat).cast(target)
        case t.BinaryType(), bytes():
            return F.lit(bytearray(value))
        case t.DateType(), int():
            return F.date_from_unix_date(F.lit(value))
        case t.TimestampType(), int():
            return F.timestamp_micros(F.lit(value).cast("bigint"))
        case t.TimestampNTZType(), int():
            since = F.make_dt_interval(secs=F.lit(Decimal(value).scaleb(-6)))
            return F.lit("1970-01-01T00:00:00").cast("timestamp_ntz") + since
    return F.lit(value).cast(target)
