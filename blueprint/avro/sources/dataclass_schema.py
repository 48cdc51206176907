"""A dataclass as an Avro record schema: fields from type hints and defaults, with their source locations.

| hint | Avro |
| --- | --- |
| `bool`, `int`, `float`, `str`, `bytes` | boolean, long, double, string, bytes |
| `datetime`, `date`, `time`, `UUID` | long (timestamp-micros), int (date), long (time-micros), string (uuid) |
| `Annotated[Decimal, (precision, scale)]` | bytes (decimal) |
| `Annotated[int, "int"]`, `Annotated[datetime, "timestamp-millis"]`, ... | the named type or logical type |
| a subclass of `Enum` | enum: the values if all are strings, else the names of the members |
| `list[T]`, `dict[str, T]`, a dataclass | array, map, record |
| `T \\| None`, `A \\| B` | union; the branch of the default first |

The default of a field becomes its Avro default; `field(metadata={"aliases": [...], "doc": "..."})` sets aliases and
documentation.
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

from blueprint.avro.logical import LOGICAL_TYPES
from blueprint.avro.sources.class_source import ClassPlaces
from blueprint.avro.sources.dataclass_defaults import NoAvroError, default_json, default_of, symbol
from blueprint.avro.sources.places import value_at
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
    datetime.timedelta: "use a number, with its unit in the field's name",
    list: "specify the type of its items: `list[str]`",
    dict: "specify the types of its keys and values: `dict[str, float]`",
    set: "use `list[...]`",
    tuple: "use `list[...]`, or a dataclass",
    typing.Any: "use a specific type, or a union such as `int | str`",
}


def schema_of_dataclass(source: type, declared: Span) -> tuple[Value, list[Diagnostic], str | None]:
    """Convert a dataclass to a schema.

    Arguments:
        source: a dataclass.
        declared: the location of findings when the source text of the class is not available.

    Returns:
        The schema as values with locations, the findings, and the file of the class.
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
        """Return the record of a dataclass, or only its name if the record is already defined."""
        at = self.places.of_class(source)
        if source in self._known:
            return value_at(self._known[source], at)
        self._known[source] = source.__name__
        record: dict[str, Any] = {"type": "record", "name": source.__name__}
        doc = (source.__doc__ or "").strip()
        if doc and not doc.startswith(f"{source.__name__}("):  # the default docstring of a dataclass
            record["doc"] = doc
        hints = self._hints(source)
        fields = dataclasses.fields(source)
        converted = [self._field(source, field, hints) for field in fields]
        record["fields"] = [field for field in converted if field is not None]
        return value_at(record, at)

    def _hints(self, source: type) -> dict[str, Any]:
        try:
            return typing.get_type_hints(source, include_extras=True)
        except Exception as error:  # noqa: BLE001 - hints are the user's code and may raise anything
            headline = f"the type hints of `{source.__qualname__}` cannot be read: {type(error).__name__}: {error}"
            self.problems.append(finding("schema-unsupported-hint", headline, self.places.of_class(source)))
            return {}

    def _field(self, source: type, field: dataclasses.Field[Any], hints: dict[str, Any]) -> Value | None:
        if field.name not in hints:
            return None
        at = self.places.of_field(source, field.name)
        try:
            schema = self._type(hints[field.name], at)
            data: dict[str, Any] = {"name": field.name, "type": schema}
            default = default_of(field)
            if default is not dataclasses.MISSING:
                data["type"] = self._default_first(hints[field.name], schema, default, at)
                data["default"] = default_json(default, hints[field.name])
        except NoAvroError as error:
            headline = f"field `{field.name}` of `{source.__qualname__}`: {error}"
            advice = [error.advice] if error.advice else []
            self.problems.append(finding("schema-unsupported-hint", headline, at, help=advice))
            return None
        data |= {key: field.metadata[key] for key in ("aliases", "doc") if key in field.metadata}
        try:
            return value_at(data, at)
        except TypeError as error:
            headline = f"field `{field.name}` of `{source.__qualname__}`: {error}"
            self.problems.append(finding("schema-unsupported-hint", headline, at))
            return None

    # Types

    def _type(self, hint: Any, at: Span) -> Any:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(arguments[0], arguments[1:], at)
        if origin in (typing.Union, types.UnionType):
            return [self._type(branch, at) for branch in sorted(arguments, key=_null_first)]
        if origin is list and arguments:
            return {"type": "array", "items": self._type(arguments[0], at)}
        if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self._type(arguments[0], at)}
        if origin is dict and len(arguments) == 2:
            if arguments[0] is not str:
                raise NoAvroError("Avro map keys must be strings", "use `dict[str, ...]`, or a list of a dataclass")
            return {"type": "map", "values": self._type(arguments[1], at)}
        if isinstance(hint, list | dict | set):
            shown = type(hint).__name__
            raise NoAvroError(f"`{hint!r}` is a {shown}, not a type hint", _ADVICE[type(hint)])
        if hint in _TYPES:
            return _TYPES[hint]
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            return self.record(hint)
        raise NoAvroError(f"Avro has no type for `{_shown(hint)}`", _ADVICE.get(origin or hint, ""))

    def _annotated(self, hint: Any, extras: tuple[Any, ...], at: Span) -> Any:
        if hint is decimal.Decimal:
            numbers = next((extra for extra in extras if isinstance(extra, tuple) and len(extra) == 2), ("", ""))
            if not all(isinstance(number, int) for number in numbers):
                raise NoAvroError("a decimal needs precision and scale", _ADVICE[decimal.Decimal])
            precision, scale = numbers
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        names = [extra for extra in extras if isinstance(extra, str) and hint in _NARROWED]
        if not names:
            return self._type(hint, at)
        if names[0] not in _NARROWED[hint]:
            choices = ", ".join(f'"{name}"' for name in _NARROWED[hint])
            raise NoAvroError(f'`{_shown(hint)}` cannot be "{names[0]}"', f"use one of {choices}")
        if names[0] in LOGICAL_TYPES:
            return {"type": LOGICAL_TYPES[names[0]][0], "logicalType": names[0]}
        return names[0]

    def _enum(self, hint: type[enum.Enum]) -> Any:
        at = self.places.of_class(hint)
        if hint in self._known:
            return value_at(self._known[hint], at)
        self._known[hint] = hint.__name__
        return value_at({"type": "enum", "name": hint.__name__, "symbols": [symbol(member) for member in hint]}, at)

    # Defaults

    def _default_first(self, hint: Any, schema: Any, default: object, at: Span) -> Any:
        """Return a union with the branch of the default first, where Avro before 1.12 requires it."""
        if not isinstance(schema, list) or default is None:
            return schema
        branches = sorted(typing.get_args(hint), key=_null_first)
        for number, branch in enumerate(branches):
            plain_hint = typing.get_args(branch)[0] if typing.get_origin(branch) is typing.Annotated else branch
            if type(default) is (typing.get_origin(plain_hint) or plain_hint):
                return [schema[number], *schema[:number], *schema[number + 1 :]]
        return schema


def _null_first(hint: Any) -> bool:
    return hint is not type(None)


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")
