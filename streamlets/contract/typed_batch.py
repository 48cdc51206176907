"""Arrow batches of authors: which of them have records of a contract by the types of their columns alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract, Primitive, Schema
from blueprint.avro.spark_types import optional

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES = ("date", "timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros")


def typed_batch(batch: pa.RecordBatch, contract: Contract) -> pa.RecordBatch | None:
    """Return a batch with the Arrow schema of a contract, or None if its records must be converted one by one.

    Every batch that this returns has the records that `Values` would make of its rows as dicts; what `Values` refuses,
    or has to look at value by value, is never returned.
    """
    import pyarrow as pa

    from streamlets.contract.types import arrow_schema

    schema = arrow_schema(contract)
    if sorted(batch.schema.names) != sorted(schema.names):
        return None
    columns = []
    for target, field in zip(schema, contract.record.fields, strict=True):
        column = batch.column(field.name)
        held, nullable = optional(field.schema, contract)
        if column.null_count and not nullable:
            return None
        if not _has_only_values_of(column.type, held, target.type):
            return None
        try:
            columns.append(column.cast(target.type))
        except pa.ArrowInvalid:  # out of range
            return None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _has_only_values_of(kind: pa.DataType, schema: Schema, target: pa.DataType) -> bool:
    """Return whether every value of an Arrow type has the type of a schema; its range is not checked."""
    import pyarrow as pa

    if not isinstance(schema, Primitive):
        return False
    if schema.logical is not None:
        return schema.logical.name in _TIMES and kind.equals(target)
    types: Any = pa.types
    kinds = {
        "int": (types.is_integer,),
        "long": (types.is_integer,),
        "float": (types.is_floating, types.is_integer),
        "double": (types.is_floating, types.is_integer),
        "boolean": (types.is_boolean,),
        "string": (types.is_string, types.is_large_string),
        "bytes": (types.is_binary, types.is_large_binary),
    }
    return any(is_kind(kind) for is_kind in kinds.get(schema.type, ()))
