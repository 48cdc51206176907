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
from blueprint.avro.dataclass_defaults import NoAvroError, default_json, default_of, symbol
from blueprint.avro.logical import LOGICAL_TYPES
from blueprint.avro.places import value_at
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import Value

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
            default = default_of(one)
            if default is not dataclasses.MISSING:
                data["type"] = self._default_first(hints[one.name], schema, default, at)
                data["default"] = default_json(default, hints[one.name])
        except NoAvroError as error:
            headline = f"field `{one.name}` of `{source.__qualname__}`: {error}"
            advice = [error.advice] if error.advice else []
            self.problems.append(finding("schema-unsupported-hint", headline, at, help=advice))
            return None
        data |= {key: one.metadata[key] for key in ("aliases", "doc") if key in one.metadata}
        try:
            return value_at(data, at)
        except TypeError as error:
            headline = f"field `{one.name}` of `{source.__qualname__}` holds {error}"
            self.problems.append(finding("schema-unsupported-hint", headline, at))
            return None

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
                raise NoAvroError("keys of a map are strings in Avro", "use `dict[str, ...]`, or a list of a dataclass")
            return {"type": "map", "values": self._type(arguments[1], at)}
        if isinstance(hint, list | dict | set):
            shown = type(hint).__name__
            raise NoAvroError(f"`{hint!r}` is a {shown}, and no type hint", _ADVICE[type(hint)])
        if hint in _TYPES:
            return _TYPES[hint]
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            return self.record(hint)
        raise NoAvroError(f"Avro has nothing for `{_shown(hint)}`", _ADVICE.get(origin or hint, ""))

    def _annotated(self, hint: Any, extras: tuple[Any, ...], at: Span) -> Any:
        if hint is decimal.Decimal:
            numbers = next((one for one in extras if isinstance(one, tuple) and len(one) == 2), ("", ""))
            if not all(isinstance(number, int) for number in numbers):
                raise NoAvroError("a decimal needs precision and scale", _ADVICE[decimal.Decimal])
            precision, scale = numbers
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        names = [one for one in extras if isinstance(one, str) and hint in _NARROWED]
        if not names:
            return self._type(hint, at)
        if names[0] not in _NARROWED[hint]:
            choices = ", ".join(f'"{name}"' for name in _NARROWED[hint])
            raise NoAvroError(f'`{_shown(hint)}` cannot be "{names[0]}"', f"it can be {choices}")
        if names[0] in LOGICAL_TYPES:
            return {"type": LOGICAL_TYPES[names[0]][0], "logicalType": names[0]}
        return names[0]

    def _enum(self, hint: type[enum.Enum]) -> Any:
        at = self.places.of_class(hint)
        if hint in self._known:
            return value_at(self._known[hint], at)
        self._known[hint] = hint.__name__
        return value_at({"type": "enum", "name": hint.__name__, "symbols": [symbol(one) for one in hint]}, at)

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


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")
