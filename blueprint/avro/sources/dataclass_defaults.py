"""Defaults of dataclass fields, converted to Avro's JSON form by their type hints."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Iterator
from typing import Any

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class NoAvroError(Exception):
    """A type hint or default that cannot be represented in Avro.

    Arguments:
        message: what is wrong, as a clause.
        advice: what to write instead, "" when that is not known.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


def default_of(field: dataclasses.Field[Any]) -> object:
    """Return the default of a field, or the result of its factory; `dataclasses.MISSING` if it has neither.

    Raises:
        NoAvroError: the factory raises.
    """
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        try:
            return field.default_factory()
        except Exception as error:
            raise NoAvroError(f"its default factory raises {type(error).__name__}: {error}") from error
    return dataclasses.MISSING


def default_json(value: object, hint: Any) -> Any:
    """Return a Python value as JSON data, in the form of Avro defaults.

    Arguments:
        value: the default.
        hint: the resolved type hint of the value. It is only used where the JSON form depends on it; whether the value
            matches the type is checked with the schema.

    Raises:
        NoAvroError: the value cannot be represented in Avro.
    """
    match value:
        case enum.Enum():
            return symbol(value)
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return value.decode("latin-1")
        case uuid.UUID():
            return str(value)
        case list() | tuple():
            return [default_json(item, _inside(hint, list, tuple)) for item in value]
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise NoAvroError(f"the default `{value!r}` is not an Avro map: its keys must be strings")
            return {key: default_json(item, _inside(hint, dict)) for key, item in value.items()}
        case datetime.datetime() | datetime.time() | decimal.Decimal():
            return _by_hint(value, hint)
        case datetime.date():
            return (value - _EPOCH.date()).days
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        fields = dataclasses.fields(value)
        return {field.name: default_json(getattr(value, field.name), hints.get(field.name)) for field in fields}
    raise NoAvroError(f"the default `{value!r}` cannot be represented in Avro")


def _hints(source: type) -> dict[str, Any]:
    """Return the type hints of a nested dataclass; {} if they cannot be read, which is reported at the class."""
    try:
        return typing.get_type_hints(source, include_extras=True)
    except Exception:  # noqa: BLE001 - hints are the user's code and may raise anything
        return {}


def symbol(member: enum.Enum) -> str:
    """Return the symbol of an enum member: its value if all values of the enum are strings, else its name."""
    strings = all(isinstance(other.value, str) for other in type(member))
    return str(member.value) if strings else member.name


def alternatives(hint: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the types of a union (or the type itself), without `Annotated`, each with its annotations."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for branch in typing.get_args(hint):
            yield from alternatives(branch)
    elif typing.get_origin(hint) is typing.Annotated:
        plain, *extras = typing.get_args(hint)
        yield plain, tuple(extras)
    else:
        yield hint, ()


def _inside(hint: Any, *kinds: type) -> Any:
    """Return the hint of the items or values of a collection; None if the hint is not a collection."""
    collections = (type_ for type_, _ in alternatives(hint) if typing.get_origin(type_) in kinds)
    arguments = next((typing.get_args(type_) for type_ in collections), ())
    return arguments[dict in kinds] if len(arguments) > (dict in kinds) else None


def _by_hint(value: datetime.datetime | datetime.time | decimal.Decimal, hint: Any) -> Any:
    """Return the JSON form of a value that depends on the unit or scale in its hint."""
    extras = next((extras for type_, extras in alternatives(hint) if type_ is type(value)), None)
    if extras is None:
        raise NoAvroError(f"the default `{value!r}` does not match the type of its field")
    unit = next((extra for extra in extras if isinstance(extra, str)), "micros")
    match value:
        case decimal.Decimal():
            numbers = next((extra for extra in extras if isinstance(extra, tuple) and len(extra) == 2), None)
            if numbers is None:
                raise NoAvroError(f"the default `{value!r}` cannot be represented in Avro")
            return _decimal_text(value, *numbers)
        case datetime.datetime():
            instant = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value  # naive values are UTC
            return _in_unit((instant - _EPOCH) // _MICROSECOND, unit)
        case datetime.time():
            since = datetime.datetime.combine(_EPOCH.date(), value, datetime.UTC) - _EPOCH
            return _in_unit(since // _MICROSECOND, unit)


def _in_unit(micros: int, logical: str) -> int:
    if logical.endswith("millis"):
        return micros // 1000
    return micros * 1000 if logical.endswith("nanos") else micros


def _decimal_text(value: decimal.Decimal, precision: int, scale: int) -> str:
    """Return the two's complement bytes of the unscaled number, as a string of code points 0 to 255."""
    if not value.is_finite():
        raise NoAvroError(f"the default `{value!r}` cannot be represented in Avro")
    try:
        # Python's default context has 28 digits and would round larger numbers.
        exact = decimal.Context(
            prec=precision, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX,
            traps=[decimal.InvalidOperation, decimal.Inexact, decimal.Overflow],
        )  # fmt: skip
        number = int(value.scaleb(scale, exact).quantize(decimal.Decimal(1), context=exact))
    except (ArithmeticError, TypeError, ValueError):
        raise NoAvroError(f"the default {value} does not fit decimal({precision}, {scale})") from None
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True).decode("latin-1")
