"""A dataclass as an Avro schema: one record, its fields by type hints and defaults, each at its line.

| hint | Avro |
| --- | --- |
| `bool`, `int`, `float`, `str`, `bytes` | boolean, long, double, string, bytes |
| `datetime`, `date`, `time`, `UUID` | long (timestamp-micros), int (date), long (time-micros), string (uuid) |
| `Annotated[Decimal, (precision, scale)]` | bytes (decimal) |
| `Annotated[int, "int"]`, `Annotated[datetime, "timestamp-millis"]`, ... | the type or logical type named |
| a subclass of `Enum` | enum: the values when all are strings, else the names of the members |
| `list[T]`, `dict[str, T]`, a dataclass | array, map, record |
| `T \\| None`, `A \\| B` | union; the branch of the default first |

A field with a default has that default in Avro; `field(metadata={"aliases": [...], "doc": "..."})` gives the rest.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from typing import Any

from blueprint.avro.class_source import ClassPlaces
from blueprint.avro.logical import LOGICAL_TYPES
from blueprint.avro.places import value_at
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import Value

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

_TYPES: dict[Any, Any] = {
    type(None): "null",
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    datetime.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    datetime.date: {"type": "int", "logicalType": "date"},
    datetime.time: {"type": "long", "logicalType": "time-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
}

_NARROWED = {
    int: ("int", "long", "float", "double"),
    float: ("float", "double"),
    datetime.datetime: tuple(name for name in LOGICAL_TYPES if "timestamp" in name),
    datetime.time: ("time-millis", "time-micros"),
}
"""Which Avro types and logical types `Annotated` may choose for a Python type."""

_ADVICE = {
    decimal.Decimal: "write `Annotated[Decimal, (precision, scale)]`",
    datetime.timedelta: "hold it as a number: `int` with its unit in the name",
    list: "say what is in it: `list[str]`",
    dict: "say what is in it: `dict[str, float]`",
    set: "use `list[...]`",
    tuple: "use `list[...]`, or a dataclass",
    typing.Any: "name a type; a union such as `int | str` may hold several",
}


class _NoAvro(Exception):  # noqa: N818 - a signal between two functions here, no error anybody sees
    """A hint that Avro has nothing for."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


def schema_of_dataclass(source: type, declared: Span) -> tuple[Value, list[Diagnostic], str | None]:
    """The schema as values with places, what Avro cannot say, and the file of the class.

    Arguments:
        source: a dataclass.
        declared: where to point when the source text of the class cannot be had.
    """
    mapper = _Mapper(declared)
    record = mapper.record(source)
    return record, mapper.problems, mapper.places.file_of(source)


class _Mapper:
    def __init__(self, declared: Span) -> None:
        self.problems: list[Diagnostic] = []
        self.places = ClassPlaces(declared)
        self._known: dict[type, str] = {}

    def record(self, source: type) -> Value:
        """The record of a dataclass; its name alone when it stands further out or before already."""
        at = self.places.of_class(source)
        if source in self._known:
            return value_at(self._known[source], at)
        self._known[source] = source.__name__
        record: dict[str, Any] = {"type": "record", "name": source.__name__}
        doc = (source.__doc__ or "").strip()
        if doc and not doc.startswith(f"{source.__name__}("):  # the text that dataclasses make up
            record["doc"] = doc
        hints = self._hints(source)
        fields = dataclasses.fields(source)
        record["fields"] = [found for one in fields if (found := self._field(source, one, hints)) is not None]
        return value_at(record, at)

    def _hints(self, source: type) -> dict[str, Any]:
        try:
            return typing.get_type_hints(source, include_extras=True)
        except Exception as error:  # noqa: BLE001 - hints are the user's code and may raise anything
            headline = f"the type hints of `{source.__qualname__}` cannot be read: {type(error).__name__}: {error}"
            self.problems.append(finding("schema-unsupported-hint", headline, self.places.of_class(source)))
            return {}

    def _field(self, source: type, one: dataclasses.Field[Any], hints: dict[str, Any]) -> Value | None:
        if one.name not in hints:
            return None
        at = self.places.of_field(source, one.name)
        try:
            schema = self._type(hints[one.name], at)
            data: dict[str, Any] = {"name": one.name, "type": schema}
            default = _default_of(one)
            if default is not dataclasses.MISSING:
                data["type"] = self._default_first(hints[one.name], schema, default, at)
                data["default"] = self._default(default, data["type"])
        except _NoAvro as error:
            headline = f"field `{one.name}` of `{source.__qualname__}`: {error}"
            advice = [error.advice] if error.advice else []
            self.problems.append(finding("schema-unsupported-hint", headline, at, help=advice))
            return None
        data |= {key: one.metadata[key] for key in ("aliases", "doc") if key in one.metadata}
        return value_at(data, at)

    # Types

    def _type(self, hint: Any, at: Span) -> Any:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(arguments[0], arguments[1:], at)
        if origin in (typing.Union, types.UnionType):
            return [self._type(one, at) for one in sorted(arguments, key=lambda one: one is not type(None))]
        if origin is list and arguments:
            return {"type": "array", "items": self._type(arguments[0], at)}
        if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self._type(arguments[0], at)}
        if origin is dict and len(arguments) == 2:
            if arguments[0] is not str:
                raise _NoAvro("keys of a map are strings in Avro", "use `dict[str, ...]`, or a list of a dataclass")
            return {"type": "map", "values": self._type(arguments[1], at)}
        if hint in _TYPES:
            return _TYPES[hint]
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            return self.record(hint)
        raise _NoAvro(f"Avro has nothing for `{_shown(hint)}`", _ADVICE.get(origin or hint, ""))

    def _annotated(self, hint: Any, extras: tuple[Any, ...], at: Span) -> Any:
        if hint is decimal.Decimal:
            numbers = next((one for one in extras if isinstance(one, tuple) and len(one) == 2), None)
            if numbers is None:
                raise _NoAvro("a decimal needs precision and scale", _ADVICE[decimal.Decimal])
            precision, scale = numbers
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        names = [one for one in extras if isinstance(one, str) and hint in _NARROWED]
        if not names:
            return self._type(hint, at)
        if names[0] not in _NARROWED[hint]:
            choices = ", ".join(f'"{name}"' for name in _NARROWED[hint])
            raise _NoAvro(f'`{_shown(hint)}` cannot be "{names[0]}"', f"it can be {choices}")
        if names[0] in LOGICAL_TYPES:
            return {"type": LOGICAL_TYPES[names[0]][0], "logicalType": names[0]}
        return names[0]

    def _enum(self, hint: type[enum.Enum]) -> Any:
        at = self.places.of_class(hint)
        if hint in self._known:
            return value_at(self._known[hint], at)
        self._known[hint] = hint.__name__
        return value_at({"type": "enum", "name": hint.__name__, "symbols": [_symbol(one) for one in hint]}, at)

    # Defaults

    def _default_first(self, hint: Any, schema: Any, default: object, at: Span) -> Any:
        """A union with the branch of the default in front, where readers of older Avro look for it."""
        if not isinstance(schema, list) or default is None:
            return schema
        hints = sorted(typing.get_args(hint), key=lambda one: one is not type(None))
        for number, one in enumerate(hints):
            plain_hint = typing.get_args(one)[0] if typing.get_origin(one) is typing.Annotated else one
            if type(default) is (typing.get_origin(plain_hint) or plain_hint):
                return [schema[number], *schema[:number], *schema[number + 1 :]]
        return schema

    def _default(self, value: object, schema: Any) -> Any:
        """A Python value as Avro's JSON form of a default."""
        match value:
            case enum.Enum():
                return _symbol(value)
            case None | bool() | int() | float() | str():
                return value
            case bytes():
                return value.decode("latin-1")
            case uuid.UUID():
                return str(value)
            case list() | tuple():
                return [self._default(one, None) for one in value]
            case dict():
                return {key: self._default(one, None) for key, one in value.items()}
        if dataclasses.is_dataclass(value):
            return {one.name: self._default(getattr(value, one.name), None) for one in dataclasses.fields(value)}
        logical = _logical_of(schema)
        match value:
            case datetime.datetime() if logical:
                return _timestamp(value, logical)
            case datetime.date():
                return (value - _EPOCH.date()).days
            case datetime.time() if logical:
                since = datetime.datetime.combine(_EPOCH.date(), value, datetime.UTC) - _EPOCH
                return since // datetime.timedelta(**{"milliseconds" if "millis" in logical else "microseconds": 1})
            case decimal.Decimal():
                return _decimal_text(value, schema)
        raise _NoAvro(f"the default `{value!r}` has no form in Avro")


def _default_of(one: dataclasses.Field[Any]) -> object:
    if one.default is not dataclasses.MISSING:
        return one.default
    if one.default_factory is not dataclasses.MISSING:
        try:
            return one.default_factory()
        except Exception as error:
            raise _NoAvro(f"its default factory raises {type(error).__name__}: {error}") from error
    return dataclasses.MISSING


def _symbol(member: enum.Enum) -> str:
    """The member as rows hold it: the value where all values of the enum are strings, else the name."""
    texts = all(isinstance(one.value, str) for one in type(member))
    return str(member.value) if texts else member.name


def _branches(schema: Any) -> list[Any]:
    return schema if isinstance(schema, list) else [schema]


def _logical_of(schema: Any) -> str:
    """The logical type of a schema, or of the first branch that has one."""
    found = (one.get("logicalType", "") for one in _branches(schema) if isinstance(one, dict))
    return next(filter(None, found), "")


def _timestamp(value: datetime.datetime, logical: str) -> int:
    """Units since 1970; a moment without a zone counts as UTC."""
    moment = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    if logical.endswith("millis"):
        return micros // 1000
    return micros * 1000 if logical.endswith("nanos") else micros


def _decimal_text(value: decimal.Decimal, schema: Any) -> str:
    """The two's complement bytes of the unscaled number, as text of code points 0 to 255."""
    kinds = [one for one in _branches(schema) if isinstance(one, dict) and one.get("logicalType") == "decimal"]
    if not kinds or not value.is_finite():
        raise _NoAvro(f"the default `{value!r}` has no form in Avro")
    precision, scale = kinds[0]["precision"], kinds[0]["scale"]
    scaled = value.scaleb(scale)
    if scaled != scaled.to_integral_value() or abs(scaled) >= decimal.Decimal(10) ** precision:
        raise _NoAvro(f"the default {value} does not fit decimal({precision}, {scale})")
    number = int(scaled)
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True).decode("latin-1")


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")
