"""Conversion of plain values to a contract, for Arrow's builders: Python values, or values of Spark's JSON."""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from blueprint.avro.model import Array, Contract, Enum, Field, Fixed, Logical, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from blueprint.spelling import suggestion
from blueprint.wording import counted
from streamlets.contract.decimals import EXACT
from streamlets.contract.defaults import default_value
from streamlets.contract.text import is_unicode

DAY = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
"""The number after the last one of a time of day, by logical type."""

UUID = "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
"""The pattern of a UUID, for Python and Java."""

_RANGES = {"int": 31, "long": 63}
_UTC = datetime.UTC
SHOWN = 40
"""The number of characters of an invalid value that a reason shows."""


class RecordError(ValueError):
    """A record that does not conform to its schema; the message is worded as the reason of a dead letter."""


@dataclass(frozen=True, slots=True)
class Values:
    """Converts Python values; methods raise `RecordError` for invalid values.

    Records are dicts by field name, times `datetime` or ISO strings, decimals `Decimal` or strings, unions the plain
    value. The argument `path` of methods is the place of the value in the record, such as `orders[3].price`, and "" for
    the record.

    Arguments:
        contract: the contract that defines the types.
    """

    contract: Contract

    def record(self, row: Mapping[str, object], record: Record, path: str = "") -> dict[str, object]:
        """Convert a record or a nested record."""
        names = [field.name for field in record.fields]
        for name in row:
            if name not in names:
                listed = f"the fields are {', '.join(f'`{n}`' for n in names)}"
                hint = suggestion(str(name), names, listed)
                raise _error(path, f"`{record.name}` has no field `{name}`; {hint}")
        parent = f"{path}." if path else ""
        return {field.name: self._field(row, field, parent + field.name) for field in record.fields}

    def _field(self, row: Mapping[str, object], field: Field, path: str) -> object:
        if field.name in row:
            return self.value(row[field.name], field.schema, path)
        if field.has_default:
            return default_value(field.default, field.schema, self.contract)
        if optional(field.schema, self.contract)[1]:
            return None
        raise _error(path, "is missing and has no default")

    def value(self, value: object, schema: Schema, path: str) -> object:
        """Convert a value of any type."""
        held, nullable = optional(schema, self.contract)
        if value is None:
            if nullable:
                return None
            raise _error(path, "is null, and the schema does not allow null")
        match held:
            case Record():
                if not isinstance(value, Mapping):
                    raise _error(path, f"is a {_type(value)}, expected a dict")
                return self.record(value, held, path)
            case Array(items=items):
                if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
                    raise _error(path, f"is a {_type(value)}, expected a list")
                return [self.value(item, items, f"{path}[{n}]") for n, item in enumerate(value)]
            case Map(values=values):
                if not isinstance(value, Mapping):
                    raise _error(path, f"is a {_type(value)}, expected a dict")
                return [
                    (_unicode(str(key), path), self.value(item, values, f"{path}[{key!r}]"))
                    for key, item in value.items()
                ]
            case Union(branches=branches):
                return self.branch(value, branches, path)
            case Enum(symbols=symbols, name=name):
                if value not in symbols:
                    shown = str(value)[:SHOWN]
                    raise _error(path, f"'{shown}' is not a symbol of `{name}` ({listed_symbols(symbols)})")
                return value
            case _:
                return self.leaf(value, held, path)

    def branch(self, value: object, branches: tuple[Schema, ...], path: str) -> dict[str, object]:
        """Convert a value of a union to the first branch that it matches."""
        reasons = []
        for index, branch in enumerate(branches):
            try:
                return {member(index): self.value(value, branch, path)}
            except RecordError as error:
                reasons.append(str(error))
        raise _error(path, f"does not match any branch of its union: {'; '.join(reasons)}")

    def leaf(self, value: object, schema: Schema, path: str) -> object:
        """Convert a value without parts."""
        return leaf_value(value, schema, path)


@dataclass(frozen=True, slots=True)
class JsonValues(Values):
    """Converts values of Spark's `to_json`: bytes are base64, unions structs of members, NaN and infinities strings.

    Numbers must be parsed as `Decimal`, so that they are not rounded.

    Arguments:
        contract: the contract that defines the types.
        extra: whether fields that the contract does not have are dropped.
    """

    extra: bool = False

    def record(self, row: Mapping[str, object], record: Record, path: str = "") -> dict[str, object]:
        """Convert a record or a nested record."""
        if self.extra:
            row = {field.name: row[field.name] for field in record.fields if field.name in row}
        return Values.record(self, row, record, path)

    def branch(self, value: object, branches: tuple[Schema, ...], path: str) -> dict[str, object]:
        """Convert a union by its only member that is not null."""
        names = [member(index) for index in range(len(branches))]
        if not isinstance(value, Mapping) or not value or not set(value) <= set(names):
            return Values.branch(self, value, branches, path)
        members = [(name, branch) for name, branch in zip(names, branches, strict=True) if value.get(name) is not None]
        if len(members) != 1:
            raise _error(path, f"{len(members)} members of the union are set, expected one")
        ((name, branch),) = members
        return {name: self.value(value[name], branch, path)}

    def leaf(self, value: object, schema: Schema, path: str) -> object:
        """Convert a value without parts."""
        kind = schema.type if isinstance(schema, Primitive) else "bytes"
        decimal = isinstance(schema, (Primitive, Fixed)) and schema.logical and schema.logical.name == "decimal"
        if isinstance(value, str) and kind == "bytes" and not decimal:
            try:
                value = base64.b64decode(value, validate=True)
            except binascii.Error:
                raise _error(path, f"is {value!r:.40}, which is not base64") from None
        elif kind in ("float", "double") and (isinstance(value, Decimal) or value in ("NaN", "Infinity", "-Infinity")):
            number = float(value)
            if isinstance(value, Decimal) and math.isinf(number) and value.is_finite():
                raise _error(path, f"is {value!s:.{SHOWN}}, out of range for `{kind}`")
            value = number
        return leaf_value(value, schema, path)


def leaf_value(value: object, schema: Schema, path: str) -> object:
    """Convert a Python value without parts; raises `RecordError` with the path if it is invalid."""
    match schema, value:
        case ((Primitive(logical=logical) | Fixed(logical=logical)), _) if logical and logical.name == "decimal":
            return _decimal(value, logical.precision or 0, logical.scale or 0, path)
        case Primitive(logical=logical), _ if logical and _is_time(logical.name):
            return _time(value, logical.name, path)
        case Primitive(type="int" | "long" as kind), int() if not isinstance(value, bool):
            if not -(2 ** _RANGES[kind]) <= value < 2 ** _RANGES[kind]:
                raise _error(path, f"is {value}, out of range for `{kind}`")
            return value
        case Primitive(type="float" | "double"), int() | float() if not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                raise _error(path, f"is {value!s:.{SHOWN}}, out of range for `{schema.type}`") from None
        case Primitive(type="string"), str():
            return _unicode(value, path)
        case Primitive(type="string", logical=Logical(name="uuid")), uuid.UUID():
            return str(value)
        case Primitive(type="boolean"), bool():
            return value
        case Primitive(type="bytes"), bytes() | bytearray():
            return bytes(value)
        case Fixed(logical=Logical(name="uuid")), uuid.UUID():
            return value.bytes
        case Fixed(size=size, name=name), bytes() | bytearray():
            if len(value) != size:
                raise _error(path, f"{counted(len(value), 'byte')}, expected {size} for `{name}`")
            return bytes(value)
        case _:
            expected = schema.type if isinstance(schema, Primitive) else "bytes"
            raise _error(path, f"is a {_type(value)} ({value!r:.40}), expected `{expected}`")


def _unicode(text: str, path: str) -> str:
    """Return a text that can be encoded: JSON escapes, and bytes of a file, may make others."""
    if not is_unicode(text):
        raise _error(path, "is not valid UTF-8")
    return text


def _decimal(value: object, precision: int, scale: int, path: str) -> Decimal:
    if isinstance(value, (Decimal, int, str)) and not isinstance(value, bool):
        try:
            exact = Decimal(value)
            rounded = exact.quantize(Decimal(1).scaleb(-scale), context=EXACT)
        except InvalidOperation:
            raise _error(path, f"{value!r} is not a decimal({precision},{scale})") from None
        if rounded == exact and len(rounded.as_tuple().digits) <= precision:
            return rounded
    raise _error(path, f"{value} does not fit decimal({precision},{scale})")


def _is_time(logical: str) -> bool:
    return logical == "date" or logical.startswith(("timestamp-mi", "local-timestamp-mi", "time-mi"))


def _time(value: object, logical: str, path: str) -> object:
    """Convert instants to aware datetimes (naive ones are UTC), local times to naive ones, times of day to numbers."""
    try:
        parsed = _parsed(value, logical)
    except ValueError as error:
        raise _error(path, str(error)) from None
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
            raise _error(path, f"is a {_type(value)} ({value!r:.40}), expected `{logical}`")


def _parsed(value: object, logical: str) -> object:
    if not isinstance(value, str):
        return value
    if logical.startswith("time-"):
        return datetime.time.fromisoformat(value)
    return datetime.date.fromisoformat(value) if logical == "date" else datetime.datetime.fromisoformat(value)


def _type(value: object) -> str:
    return "null" if value is None else f"`{type(value).__name__}`"


def listed_symbols(symbols: Sequence[str]) -> str:
    """Return the symbols of an enum for a reason, shortened if they are many."""
    text = ", ".join(symbols)
    return f"{text[: 2 * SHOWN]} …" if len(text) > 2 * SHOWN else text


def _error(path: str, reason: str) -> RecordError:
    return RecordError(f"`{path}`: {reason}" if path else reason)
