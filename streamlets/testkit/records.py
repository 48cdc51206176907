"""Records as plain Python data, to and from Arrow: what tests put in and take out."""

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
    """Records as Arrow batches of a contract.

    Arguments:
        records: dicts by field name (times as `datetime` or ISO text, decimals as `Decimal` or text, unions as the
            plain value); or an Arrow table or batch, or a DataFrame of pandas or Spark.

    Raises:
        RecordError: a record breaks the schema.
    """
    import pyarrow as pa

    schema, values = arrow_schema(contract), Values(contract)
    rows = [values.record(row, contract.record, f"record {n}") for n, row in enumerate(_mappings(records), 1)]
    return [pa.RecordBatch.from_pylist(rows, schema=schema)] if rows else []


def from_batches(batches: Iterable[pa.RecordBatch], contract: Contract) -> list[dict[str, Any]]:
    """Arrow batches of a contract as dicts by field name; unions as the plain value, times with their zone."""
    found = []
    for batch in batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            found.append({name: value for name, value in row.items() if name not in _names(contract)})
            found[-1] |= {f.name: _plain(row[f.name], f.schema, contract) for f in contract.record.fields}
    return found


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
        raise RecordError(f"records are a list of dicts, an Arrow table or a DataFrame, not a {_type(records)}")
    for number, row in enumerate(table, 1):
        if not isinstance(row, Mapping):
            raise RecordError(f"record {number} is a {_type(row)}, not a dict by field name")
        yield row


def _plain(value: Any, schema: Schema, contract: Contract) -> Any:
    held, _ = optional(schema, contract)
    if value is None:
        return None
    match held:
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
