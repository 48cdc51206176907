"""Conversion between Arrow batches and the plain Python data with which tests write and read records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Array, Contract, Map, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import RecordError, Values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RecordError", "from_batches", "to_batches"]


def to_batches(records: object, contract: Contract) -> list[pa.RecordBatch]:
    """Convert records to Arrow batches of a contract.

    Arguments:
        records: dicts by field name (times as `datetime` or ISO string, decimals as `Decimal` or string, unions as the
            plain value); or an Arrow table or batch, or a DataFrame of pandas or Spark.
        contract: the contract.

    Raises:
        RecordError: a record breaks the schema.
    """
    import pyarrow as pa

    schema, values = arrow_schema(contract), Values(contract)
    rows = []
    for number, row in enumerate(_mappings(records), 1):
        try:
            rows.append(values.record(row, contract.record))
        except RecordError as error:
            raise RecordError(f"record {number}, {error}") from None
    return [pa.RecordBatch.from_pylist(rows, schema=schema)] if rows else []


def from_batches(batches: Iterable[pa.RecordBatch], contract: Contract) -> list[dict[str, Any]]:
    """Convert Arrow batches of a contract to dicts by field name; unions become the plain value, times have a zone."""
    records = []
    for batch in batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            record = {name: value for name, value in row.items() if name not in _names(contract)}
            records.append(record | {f.name: _plain(row[f.name], f.schema, contract) for f in contract.record.fields})
    return records


def _names(contract: Contract) -> set[str]:
    return {field.name for field in contract.record.fields}


def _mappings(records: object) -> Iterator[Mapping[str, object]]:
    table = records
    if hasattr(table, "toArrow"):
        table = table.toArrow()
    elif hasattr(table, "to_dict") and hasattr(table, "columns"):
        import pyarrow as pa

        table = pa.Table.from_pandas(table, preserve_index=False)
    if hasattr(table, "to_pylist"):
        table = table.to_pylist(maps_as_pydicts="strict")
    if isinstance(table, (Mapping, str, bytes)) or not isinstance(table, Iterable):
        raise RecordError(f"records must be a list of dicts, an Arrow table or a DataFrame, found {_type(records)}")
    for number, row in enumerate(table, 1):
        if not isinstance(row, Mapping):
            raise RecordError(f"record {number} must be a dict by field name, found {_type(row)}")
        yield row


def _plain(value: Any, schema: Schema, contract: Contract) -> Any:
    not_null, _ = optional(schema, contract)
    if value is None:
        return None
    match not_null:
        case Record(fields=fields):
            return {f.name: _plain(value[f.name], f.schema, contract) for f in fields}
        case Array(items=items):
            return [_plain(item, items, contract) for item in value]
        case Map(values=values):
            return {key: _plain(item, values, contract) for key, item in value.items()}
        case Union(branches=branches):
            for index, branch in enumerate(branches):
                if value[member(index)] is not None:
                    return _plain(value[member(index)], branch, contract)
            return None
        case _:
            return value


def _type(value: object) -> str:
    return "null" if value is None else f"`{type(value).__name__}`"
