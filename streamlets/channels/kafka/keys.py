"""The keys of messages, made of the columns that partition the records of an outlet.

The key of one column is its value as a string, or its bytes; the key of several columns is a JSON array of strings. A
null becomes a message without a key. Spark and Python make the same keys, so that both send equal records to one
partition.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

_EPOCH = datetime.datetime(1970, 1, 1)


def key_column(columns: StructType, partition_by: Sequence[str]) -> Column:
    """Return the key of a message as a Spark column, of binary type.

    Arguments:
        columns: the columns of the records.
        partition_by: the columns, or SQL expressions over columns, of the outlet.
    """
    from pyspark.sql import functions as F

    if not partition_by:
        return F.lit(None).cast("binary")
    types = {field.name.lower(): field.dataType for field in columns.fields}
    texts = [_text_column(text, types.get(text.lower())) for text in partition_by]
    if len(texts) == 1:
        return texts[0].cast("binary")
    return F.to_json(F.array(*(text.cast("string") for text in texts)), {"ignoreNullFields": "false"}).cast("binary")


def _text_column(text: str, kind: DataType | None) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    column = F.col(f"`{text}`") if kind is not None else F.expr(text)
    match kind:
        case t.BinaryType():
            return column
        case t.TimestampType() | t.TimestampNTZType():
            return F.unix_micros(column.cast("timestamp_ltz")).cast("string")
        case _:
            return column.cast("string")


def key_function(contract: Contract, partition_by: Sequence[str]) -> Callable[[pa.RecordBatch], list[bytes | None]]:
    """Return the function that makes the keys of records without Spark.

    Arguments:
        contract: the contract of the records.
        partition_by: the columns of the outlet.

    Raises:
        ValueError: the outlet is partitioned by an expression, which only Spark can evaluate.
    """
    names = {field.name.lower(): field.name for field in contract.record.fields}
    for text in partition_by:
        if text.lower() not in names:
            raise ValueError(f"`partition_by` must be columns for a write without Spark, found the expression `{text}`")
    columns = [names[text.lower()] for text in partition_by]

    def keys(rows: pa.RecordBatch) -> list[bytes | None]:
        if not columns:
            return [None] * rows.num_rows
        return [_key(values) for values in zip(*(rows.column(name).to_pylist() for name in columns), strict=True)]

    return keys


def _key(values: Sequence[object]) -> bytes | None:
    if len(values) == 1:
        (value,) = values
        if isinstance(value, bytes):
            return value
        text = _text(value)
        return text.encode() if text is not None else None
    return json.dumps([_text(value) for value in values], separators=(",", ":"), ensure_ascii=False).encode()


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode("utf-8", errors="replace")
        case datetime.datetime():
            return str((value.replace(tzinfo=None) - _EPOCH) // datetime.timedelta(microseconds=1))
        case Decimal():
            return f"{value:f}"
    return str(value)
