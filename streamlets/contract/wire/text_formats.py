"""The formats without Avro's encoding, for topics of other applications: bytes, strings and JSON."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Array, Contract, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import optional
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import RecordError
from streamlets.contract.wire.errors import UndecodableError
from streamlets.contract.wire.format import Decoded
from streamlets.contract.wire.json_rules import Unit
from streamlets.contract.wire.json_values import MessageValues, parse_message

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SingleField:
    """A message is the value of the only field of its record: bytes, or a string in UTF-8.

    Arguments:
        contract: the contract of all messages.
    """

    contract: Contract

    def encode(self, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
        """Return a message for each record; see `WireFormat.encode`."""
        single_field(contract)
        values = rows.column(0).to_pylist()
        return [value.encode() if isinstance(value, str) else value for value in values]

    def decode(self, message: bytes) -> Decoded:
        """Return the record of a message; see `WireFormat.decode`."""
        name, kind = single_field(self.contract)
        if kind == "bytes":
            return Decoded(self.contract, {name: message})
        try:
            return Decoded(self.contract, {name: message.decode()})
        except UnicodeDecodeError as error:
            raise UndecodableError(f"the bytes are not a string in UTF-8: {error}") from None

    def rows(self, contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records as Arrow; see `WireFormat.rows`."""
        return _rows(contract, values)


def single_field(contract: Contract) -> tuple[str, str]:
    """Return the name and the type of the only field, `bytes` or `string`.

    Raises:
        ValueError: the contract has other fields.
    """
    match [(field.name, contract.resolve(field.schema)) for field in contract.record.fields]:
        case [(str(name), Primitive(type="bytes" | "string" as kind, logical=None))]:
            return name, kind
    raise ValueError(
        f"messages of bytes or strings need a record with one field of the type `bytes` or `string`, found the fields "
        f"{', '.join(f'`{field.name}`' for field in contract.record.fields) or 'of an empty record'}"
    )


@dataclass(frozen=True, slots=True)
class JsonText:
    """A message is a JSON object, whose members are the fields of its record.

    Bytes are in base64, times in ISO 8601 or numbers. Members that the contract does not have are ignored.

    Arguments:
        contract: the contract of all messages.
        unit: the unit of times that are numbers.
    """

    contract: Contract
    unit: Unit = "milliseconds"

    def encode(self, rows: pa.RecordBatch, contract: Contract) -> list[bytes]:
        """Return a message for each record; see `WireFormat.encode`."""
        require_json(contract)
        return [_dump(_plain(row, contract.record, contract)).encode() for row in rows.to_pylist()]

    def decode(self, message: bytes) -> Decoded:
        """Return the record of a message; see `WireFormat.decode`."""
        record = self.contract.record
        try:
            values = MessageValues(self.contract, extra=True, unit=self.unit)
            return Decoded(self.contract, values.record(parse_message(message), record))
        except RecordError as error:
            raise UndecodableError(f"the message, {error}") from None

    def rows(self, contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records as Arrow; see `WireFormat.rows`."""
        return _rows(contract, values)


def require_json(contract: Contract) -> None:
    """Raise an error if records of a contract are not JSON that others can read.

    Raises:
        ValueError: a type is a union of several types, which JSON does not tell apart.
    """

    def check(schema: Schema, path: str) -> None:
        held, _ = optional(schema, contract)
        match held:
            case Union():
                raise ValueError(f"messages of JSON cannot have a union of several types, found one at `{path}`")
            case Record(fields=fields):
                for field in fields:
                    check(field.schema, f"{path}.{field.name}" if path else field.name)
            case Array(items=inner) | Map(values=inner):
                check(inner, f"{path}[]")

    check(contract.record, "")


def _rows(contract: Contract, values: Sequence[object]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(list(values), schema=arrow_schema(contract))


def _dump(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_text)


def _text(value: object) -> str | float:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Decimal():
            return str(value)
    raise TypeError(f"unexpected value {value!r}")


def _plain(value: Any, schema: Schema, contract: Contract) -> Any:
    """Return a value of Arrow with maps as objects."""
    held, _ = optional(schema, contract)
    if value is None:
        return None
    match held:
        case Record(fields=fields):
            return {field.name: _plain(value[field.name], field.schema, contract) for field in fields}
        case Array(items=items):
            return [_plain(item, items, contract) for item in value]
        case Map(values=values):
            return {key: _plain(inner, values, contract) for key, inner in value}
        case Primitive(type="float" | "double") if not math.isfinite(value):
            return str(value).replace("inf", "Infinity").replace("nan", "NaN")
    return value
