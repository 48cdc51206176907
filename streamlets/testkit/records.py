"""Records as plain Python data, to and from Arrow: what tests put in and take out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Array, Contract, Enum, Field, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from blueprint.spelling import did_you_mean
from streamlets.contract.defaults import default_value
from streamlets.contract.types import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

_RANGES = {"int": 31, "long": 63}
_UTC = datetime.UTC


class RecordError(ValueError):
    """A record that its schema does not allow; the message says which field and why."""


def to_batches(records: object, contract: Contract) -> list[pa.RecordBatch]:
    """Records as Arrow batches of a contract.

    Arguments:
        records: dicts by field name (times as `datetime` or ISO text, decimals as `Decimal` or text, unions as the
            plain value); or an Arrow table or batch, or a DataFrame of pandas or Spark.

    Raises:
        RecordError: a record breaks the schema.
    """
    import pyarrow as pa

    schema = arrow_schema(contract)
    rows = [_record(row, contract.record, contract, f"record {n}") for n, row in enumerate(_mappings(records), 1)]
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


def _record(row: Mapping[str, object], record: Record, contract: Contract, path: str) -> dict[str, object]:
    names = [field.name for field in record.fields]
    for name in row:
        if name not in names:
            hint = " ".join(did_you_mean(str(name), names)) or f"the fields are {', '.join(f'`{n}`' for n in names)}"
            raise RecordError(f"{path}: `{record.name}` has no field `{name}`; {hint}")
    return {field.name: _field(row, field, contract, f"{path}, `{field.name}`") for field in record.fields}


def _field(row: Mapping[str, object], field: Field, contract: Contract, path: str) -> object:
    if field.name in row:
        return _value(row[field.name], field.schema, contract, path)
    if field.has_default:
        return default_value(field.default, field.schema, contract)
    if optional(field.schema, contract)[1]:
        return None
    raise RecordError(f"{path} is missing and has no default")


def _value(value: object, schema: Schema, contract: Contract, path: str) -> object:
    held, nullable = optional(schema, contract)
    if value is None:
        if nullable:
            return None
        raise RecordError(f"{path} is null, and the schema does not allow it")
    match held:
        case Record():
            if not isinstance(value, Mapping):
                raise RecordError(f"{path} is a {_type(value)}, not a dict")
            return _record(value, held, contract, path)
        case Array(items=items):
            if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
                raise RecordError(f"{path} is a {_type(value)}, not a list")
            return [_value(item, items, contract, f"{path}[{n}]") for n, item in enumerate(value)]
        case Map(values=values):
            if not isinstance(value, Mapping):
                raise RecordError(f"{path} is a {_type(value)}, not a dict")
            return [(str(key), _value(item, values, contract, f"{path}[{key!r}]")) for key, item in value.items()]
        case Union(branches=branches):
            return _branch(value, branches, contract, path)
        case Enum(symbols=symbols, name=name):
            if value not in symbols:
                raise RecordError(f"{path} is {value!r}, no symbol of `{name}`: {', '.join(symbols)}")
            return value
        case _:
            return _leaf(value, held, path)


def _branch(value: object, branches: tuple[Schema, ...], contract: Contract, path: str) -> dict[str, object]:
    reasons = []
    for index, branch in enumerate(branches):
        try:
            return {member(index): _value(value, branch, contract, path)}
        except RecordError as error:
            reasons.append(str(error))
    raise RecordError(f"{path} fits no branch of its union: {'; '.join(reasons)}")


def _leaf(value: object, schema: Schema, path: str) -> object:
    match schema, value:
        case ((Primitive(logical=logical) | Fixed(logical=logical)), _) if logical and logical.name == "decimal":
            return _decimal(value, logical.precision or 0, logical.scale or 0, path)
        case Primitive(logical=logical), _ if logical and _is_time(logical.name):
            return _time(value, logical.name, path)
        case Primitive(type="int" | "long" as kind), int() if not isinstance(value, bool):
            if not -(2 ** _RANGES[kind]) <= value < 2 ** _RANGES[kind]:
                raise RecordError(f"{path} is {value}, too large for `{kind}`")
            return value
        case Primitive(type="float" | "double"), int() | float() if not isinstance(value, bool):
            return float(value)
        case Primitive(type="string"), str():
            return value
        case Primitive(type="boolean"), bool():
            return value
        case Primitive(type="bytes"), bytes() | bytearray():
            return bytes(value)
        case Fixed(size=size), bytes() | bytearray():
            if len(value) != size:
                raise RecordError(f"{path} has {len(value)} bytes, not {size}")
            return bytes(value)
        case _:
            wanted = schema.type if isinstance(schema, Primitive) else "bytes"
            raise RecordError(f"{path} is a {_type(value)} ({value!r:.40}), not `{wanted}`")


def _decimal(value: object, precision: int, scale: int, path: str) -> Decimal:
    if isinstance(value, (Decimal, int, str)) and not isinstance(value, bool):
        try:
            exact = Decimal(value)
            rounded = exact.quantize(Decimal(1).scaleb(-scale))
        except InvalidOperation:
            raise RecordError(f"{path} is {value!r}, no decimal({precision},{scale})") from None
        if rounded == exact and len(rounded.as_tuple().digits) <= precision:
            return rounded
    raise RecordError(f"{path} is {value!r}, which does not fit decimal({precision},{scale})")


def _is_time(logical: str) -> bool:
    return logical == "date" or logical.startswith(("timestamp-mi", "local-timestamp-mi", "time-mi"))


def _time(value: object, logical: str, path: str) -> object:
    """Instants as aware datetimes (naive ones count as UTC), local times as naive ones, times of day as numbers."""
    try:
        parsed = _parsed(value, logical)
    except ValueError as error:
        raise RecordError(f"{path}: {error}") from None
    match parsed:
        case datetime.datetime() if logical == "date":
            return parsed.date()
        case datetime.datetime() if logical.startswith("local-"):
            return parsed.replace(tzinfo=None)
        case datetime.datetime():
            return parsed if parsed.tzinfo else parsed.replace(tzinfo=_UTC)
        case datetime.date() if logical == "date":
            return parsed
        case datetime.time() if logical.startswith("time-"):
            micros = ((parsed.hour * 60 + parsed.minute) * 60 + parsed.second) * 1_000_000 + parsed.microsecond
            return micros // 1000 if logical == "time-millis" else micros
        case int() if logical.startswith("time-") and not isinstance(parsed, bool):
            return parsed
        case _:
            raise RecordError(f"{path} is a {_type(value)} ({value!r:.40}), not a `{logical}`")


def _parsed(value: object, logical: str) -> object:
    if not isinstance(value, str):
        return value
    if logical.startswith("time-"):
        return datetime.time.fromisoformat(value)
    return datetime.date.fromisoformat(value) if logical == "date" else datetime.datetime.fromisoformat(value)


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
