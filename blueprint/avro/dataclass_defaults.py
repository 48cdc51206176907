"""Defaults of a dataclass's fields as Avro has them: each by the hint it stands under, also deep inside."""

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
    """A hint or default that Avro has nothing for; `advice` is what to write instead, "" when that is not known."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


def default_of(one: dataclasses.Field[Any]) -> object:
    """The default of a field, made by its factory where it has one; `dataclasses.MISSING` when there is none.

    Raises:
        NoAvroError: the factory raises.
    """
    if one.default is not dataclasses.MISSING:
        return one.default
    if one.default_factory is not dataclasses.MISSING:
        try:
            return one.default_factory()
        except Exception as error:
            raise NoAvroError(f"its default factory raises {type(error).__name__}: {error}") from error
    return dataclasses.MISSING


def default_json(value: object, hint: Any) -> Any:
    """A Python value as JSON data, in the form that Avro gives defaults.

    Arguments:
        hint: the resolved type hint the value stands under. Whether the value is one of its type is left to whoever
            checks the schema; it is asked only where the form depends on it.

    Raises:
        NoAvroError: the value has no such form.
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
            return [default_json(one, _inside(hint, list, tuple)) for one in value]
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise NoAvroError(f"the default `{value!r}` is no map: keys of a map are strings in Avro")
            return {key: default_json(one, _inside(hint, dict)) for key, one in value.items()}
        case datetime.datetime() | datetime.time() | decimal.Decimal():
            return _by_hint(value, hint)
        case datetime.date():
            return (value - _EPOCH.date()).days
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        fields = dataclasses.fields(value)
        return {one.name: default_json(getattr(value, one.name), hints.get(one.name)) for one in fields}
    raise NoAvroError(f"the default `{value!r}` has no form in Avro")


def _hints(source: type) -> dict[str, Any]:
    """The hints of a dataclass inside another one; none where they cannot be read, which is told of the class."""
    try:
        return typing.get_type_hints(source, include_extras=True)
    except Exception:  # noqa: BLE001 - hints are the user's code and may raise anything
        return {}


def symbol(member: enum.Enum) -> str:
    """The member as rows hold it: the value where all values of the enum are strings, else the name."""
    texts = all(isinstance(one.value, str) for one in type(member))
    return str(member.value) if texts else member.name


def alternatives(hint: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The types a hint allows, each without `Annotated` and with what that says."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for one in typing.get_args(hint):
            yield from alternatives(one)
    elif typing.get_origin(hint) is typing.Annotated:
        plain, *extras = typing.get_args(hint)
        yield plain, tuple(extras)
    else:
        yield hint, ()


def _inside(hint: Any, *kinds: type) -> Any:
    """The hint of the items or values of a collection; None when the hint allows none."""
    found = (one for one, _ in alternatives(hint) if typing.get_origin(one) in kinds)
    arguments = next((typing.get_args(one) for one in found), ())
    return arguments[dict in kinds] if len(arguments) > (dict in kinds) else None


def _by_hint(value: datetime.datetime | datetime.time | decimal.Decimal, hint: Any) -> Any:
    """A value whose number depends on the unit or scale that its hint gives."""
    extras = next((extras for one, extras in alternatives(hint) if one is type(value)), None)
    if extras is None:
        raise NoAvroError(f"the default `{value!r}` is of another type than its field")
    named = next((one for one in extras if isinstance(one, str)), "micros")
    match value:
        case decimal.Decimal():
            numbers = next((one for one in extras if isinstance(one, tuple) and len(one) == 2), None)
            if numbers is None:
                raise NoAvroError(f"the default `{value!r}` has no form in Avro")
            return _decimal_text(value, *numbers)
        case datetime.datetime():
            moment = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value  # without a zone, it is UTC
            return _in_unit((moment - _EPOCH) // _MICROSECOND, named)
        case datetime.time():
            since = datetime.datetime.combine(_EPOCH.date(), value, datetime.UTC) - _EPOCH
            return _in_unit(since // _MICROSECOND, named)


def _in_unit(micros: int, logical: str) -> int:
    if logical.endswith("millis"):
        return micros // 1000
    return micros * 1000 if logical.endswith("nanos") else micros


def _decimal_text(value: decimal.Decimal, precision: int, scale: int) -> str:
    """The two's complement bytes of the unscaled number, as text of code points 0 to 255."""
    if not value.is_finite():
        raise NoAvroError(f"the default `{value!r}` has no form in Avro")
    try:
        # Python's own context has 28 digits, and would round larger numbers.
        exact = decimal.Context(
            prec=precision, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX,
            traps=[decimal.InvalidOperation, decimal.Inexact, decimal.Overflow],
        )  # fmt: skip
        number = int(value.scaleb(scale, exact).quantize(decimal.Decimal(1), context=exact))
    except (ArithmeticError, TypeError, ValueError):
        raise NoAvroError(f"the default {value} does not fit decimal({precision}, {scale})") from None
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True).decode("latin-1")
