"""Parsing messages of JSON without Spark: each value exactly, or an error."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from blueprint.avro.model import Fixed, Primitive, Schema
from streamlets.contract.values import DAY, UUID, JsonValues, RecordError, leaf_value
from streamlets.contract.wire.errors import UndecodableError
from streamlets.contract.wire.json_rules import (
    DATE,
    MICROSECONDS,
    NUMBERS,
    Unit,
    decimal,
    time_of_day,
    time_reason,
    timestamp,
)

_DIGITS = 38  # Spark's variants keep numbers with up to 38 digits as they are
_LENGTH = 1000  # Java's parser reads no longer numbers
_LONG = range(-(2**63), 2**63)


def parse_message(message: bytes) -> dict[str, Any]:
    """Return the members of a message's JSON object: numbers are `int`, `Decimal` (written as such), or `float`.

    Raises:
        UndecodableError: the message is not exactly one object, in UTF-8, without repeated members.
    """
    try:
        data = json.loads(
            message.decode(),
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
            object_pairs_hook=_members,
        )
        if b"\\u" in message:
            json.dumps(data, ensure_ascii=False, default=str).encode()  # half of a surrogate pair is not a character
    except ValueError as error:  # UnicodeError included
        raise UndecodableError(f"the message is not JSON: {error}") from None
    except RecursionError:
        raise UndecodableError("the message is not JSON that can be read: it is nested too deeply") from None
    if not isinstance(data, dict):
        raise UndecodableError(f"the message must be a JSON object, found {_shown(data)}")
    return data


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member `{next(name for name in names if names.count(name) > 1)}` appears twice")
    return members


def _integer(text: str) -> int | Decimal | float:
    _check_length(text)
    number = int(text)
    return number if number in _LONG else _decimal_or_float(text)


def _number(text: str) -> Decimal | float:
    _check_length(text)
    return float(text) if "e" in text or "E" in text else _decimal_or_float(text)


def _decimal_or_float(text: str) -> Decimal | float:
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    return number if len(digits) <= _DIGITS and -exponent <= _DIGITS else float(text)


def _check_length(text: str) -> None:
    if len(text) > _LENGTH:
        raise ValueError(f"a number has {len(text)} characters, expected at most {_LENGTH}")


def _constant(text: str) -> None:
    raise ValueError(f"`{text}` is not a value of JSON")


@dataclass(frozen=True, slots=True)
class MessageValues(JsonValues):
    """Converts the values of `parse_message`.

    Arguments:
        unit: the unit of times that are numbers.
    """

    unit: Unit = "milliseconds"

    def leaf(self, value: object, schema: Schema, path: str) -> object:
        """Convert a value without parts."""
        logical = schema.logical.name if isinstance(schema, (Primitive, Fixed)) and schema.logical else ""
        kind = schema.type if isinstance(schema, Primitive) else "fixed"
        try:
            match kind, logical:
                case _, "decimal":
                    assert isinstance(schema, (Primitive, Fixed))
                    assert schema.logical is not None
                    value = _decimal(value, schema.logical.precision or 0, schema.logical.scale or 0)
                case _, "date":
                    value = _text(value, DATE, "a date")
                case _, "time-millis" | "time-micros":
                    value = _time_of_day(value, logical)
                case _, _ if logical.startswith(("timestamp-mi", "local-timestamp-mi")):
                    return self._timestamp(value, schema, logical, path)
                case "bytes" | "fixed", _:
                    value = _bytes(value)
                case "string", "uuid":
                    value = _text(value, UUID, "a UUID")
                case "float" | "double", _:
                    return _float(value, kind)
        except ValueError as error:
            raise RecordError(f"`{path}`: {error}") from None
        return leaf_value(value, schema, path)

    def _timestamp(self, value: object, schema: Schema, logical: str, path: str) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            if self.unit == "invalid":
                raise ValueError(f"is {value}, expected a string in ISO 8601")
            micros = value * MICROSECONDS[self.unit]
            if reason := time_reason(micros):
                raise ValueError(f"is {value} {self.unit} since 1970-01-01, {reason}")
            return micros
        time = leaf_value(_text(value, timestamp(logical), "a timestamp in ISO 8601"), schema, path)
        if isinstance(time, datetime.datetime) and time.tzinfo is not None:
            try:
                return time.astimezone(datetime.UTC)
            except OverflowError:
                raise ValueError(f"is {_shown(value)}, which is before the year 1 or after 9999 in UTC") from None
        return time


def _text(value: object, pattern: str, what: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise ValueError(f"is {_shown(value)}, which is not {what} that the field can have")
    return value


def _decimal(value: object, precision: int, scale: int) -> Decimal:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        value = f"{value:f}"
    return Decimal(_text(value, decimal(precision, scale), f"a decimal({precision},{scale})"))


def _time_of_day(value: object, logical: str) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and not 0 <= value < DAY[logical]:
        raise ValueError(f"is {value}, which is not a time of day")
    return _text(value, time_of_day(logical), "a time of day") if isinstance(value, str) else value


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        data = None
    if data is None or base64.b64encode(data).decode() != value:
        raise ValueError(f"is {_shown(value)}, which is not base64")
    return data


def _float(value: object, kind: str) -> float:
    if isinstance(value, str) and value in NUMBERS:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError(f"is {_shown(value)}, expected `{kind}`")
    number = float(value) if value or isinstance(value, float) else 0.0
    try:
        if kind == "float":
            (number,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"is {_shown(value)}, out of range for `{kind}`")
    return number


def _shown(value: object) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if isinstance(value, str) else f"`{text:.40}`" if len(text) <= 40 else f"`{text:.40} …`"
