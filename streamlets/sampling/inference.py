"""The types of the values of a column, of whatever form: the narrowest Avro type that every one of them has."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from streamlets.sampling.texts import Guess, decimal_type, long_or_decimal, string_type, text_type

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A name in Avro."""

_MOST_KEYS = 50
"""The number of keys of objects from which on they are keys of a map."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the type of a column may be another one.

    Arguments:
        column: the path of the column; "" for what is not about a column.
        reason: the reason, as a clause.
    """

    column: str
    reason: str


@dataclass(slots=True)
class Inference:
    """Finds types, and collects doubts about them.

    Arguments:
        doubts: the doubts so far.
    """

    doubts: list[Doubt] = field(default_factory=list)

    def column(self, path: str, values: Sequence[Any], *, texts: bool, missing: int = 0) -> object:
        """Return the type of a column, which is a union with `null` if a value is null or missing.

        Arguments:
            path: its name, with the names of the columns that it is in.
            values: its values.
            texts: whether they are texts without a type, of which an empty one is null.
            missing: the number of records without the column.
        """
        present = [value for value in values if value is not None and not (texts and value == "")]
        if not present:
            self.doubt(path, "it has no value in the sample")
            return ["null", "string"]
        if texts:
            type = self._guessed(path, text_type(present))
        else:
            type = self._type(path, present)
        nullable = missing or len(present) < len(values)
        if not nullable:
            return type
        return ["null", *(type if isinstance(type, list) else [type])]

    def record(self, path: str, objects: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
        """Return the fields of objects.

        Arguments:
            path: the column that has them; "" for the records themselves.
            objects: the objects.
        """
        names = dict.fromkeys(name for value in objects for name in value)
        fields = []
        for name in names:
            inner = f"{path}.{name}" if path else name
            if not NAME.fullmatch(name):
                self.doubt(inner, "it cannot be a field: Avro has letters, digits and `_` in names")
                continue
            values = [value[name] for value in objects if name in value]
            fields.append(field_of(name, self.column(inner, values, texts=False, missing=len(objects) - len(values))))
        return fields

    def doubt(self, path: str, reason: str) -> None:
        """Take note of a doubt."""
        self.doubts.append(Doubt(path, reason))

    def _guessed(self, path: str, guess: Guess | None) -> Any:
        assert guess is not None
        if guess.doubt:
            self.doubt(path, guess.doubt)
        return guess.type

    def _type(self, path: str, values: Sequence[Any]) -> Any:
        """Return the type of values, none of which is null."""
        kinds = {kind(value) for value in values}
        numbers = kinds & _NUMBERS
        if len(numbers) > 1:
            kinds = kinds - _NUMBERS | {"double"}
        if len(kinds) > 1:
            self.doubt(path, f"its values are of several types: {' and '.join(sorted(kinds))}")
            return [self._branch(path, kind_of_branch, values) for kind_of_branch in sorted(kinds)]
        return self._of_kind(path, kinds.pop(), values)

    def _branch(self, path: str, name: str, values: Sequence[Any]) -> Any:
        """Return the type of the values of one kind among others; a union has no two logical types of one type."""
        if name in ("string", "double"):
            return name
        type = self._of_kind(path, name, [value for value in values if kind(value) == name])
        return "long" if name == "int" and isinstance(type, str) else type

    def _of_kind(self, path: str, kind: str, values: Sequence[Any]) -> Any:
        match kind:
            case "object":
                return self._object(path, values)
            case "array":
                items = [item for value in values for item in value]
                if not items:
                    self.doubt(path, "its arrays are empty: the type of their items is not known")
                    return {"type": "array", "items": "string"}
                return {"type": "array", "items": self.column(f"{path}[]", items, texts=False)}
            case "string":
                return self._guessed(path, string_type(values))
            case "int":
                return self._guessed(path, long_or_decimal(values))
            case "decimal":
                return self._decimal(path, values)
            case _:
                if (type := _SIMPLE.get(kind)) is None:
                    self.doubt(path, f"its values are of the type `{kind}`, which has no equivalent in Avro")
                    return "string"
                return type

    def _decimal(self, path: str, values: Sequence[Decimal]) -> Any:
        """Return the type of decimals: numbers in JSON are `double` unless they have a fixed scale."""
        scales = {int(value.as_tuple().exponent) for value in values}
        ends = any(value.as_tuple().digits[-1] == 0 for value in values)
        decimal = decimal_type(values) if len(scales) == 1 and ends and scales.pop() < 0 else None
        if decimal is not None:
            self.doubt(path, "every value has as many digits after the point; use `double` if others have more")
        return decimal or "double"

    def _object(self, path: str, values: Sequence[Mapping[str, Any]]) -> Any:
        """Return the type of objects: records, or maps if they have many keys or keys that are not names."""
        names = {name for value in values for name in value}
        strange = [name for name in names if not NAME.fullmatch(name)]
        if not names or len(names) > _MOST_KEYS or strange:
            reason = "are empty" if not names else "have keys that are not names" if strange else "have many keys"
            self.doubt(path, f"its objects {reason}: it may be a map or a record")
            items = [item for value in values for item in value.values()]
            return {"type": "map", "values": self.column(f"{path}{{}}", items, texts=False) if items else "string"}
        fields = self.record(path, values)
        return {"type": "record", "name": type_name(path), "fields": fields}


_NUMBERS = {"int", "decimal", "double"}
_SIMPLE: Mapping[str, object] = {
    "boolean": "boolean",
    "double": "double",
    "bytes": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "local timestamp": {"type": "long", "logicalType": "local-timestamp-micros"},
    "uuid": {"type": "string", "logicalType": "uuid"},
}

_KINDS: Sequence[tuple[type | tuple[type, ...], str]] = (
    (bool, "boolean"),
    (int, "int"),
    (float, "double"),
    (Decimal, "decimal"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "bytes"),
    (Mapping, "object"),
    ((list, tuple), "array"),
    (datetime.date, "date"),
    (datetime.time, "time"),
    (uuid.UUID, "uuid"),
)


def kind(value: object) -> str:
    """Return the kind of a value that is not null, as users know it."""
    if isinstance(value, datetime.datetime):
        return "timestamp" if value.tzinfo else "local timestamp"
    return next((name for types, name in _KINDS if isinstance(value, types)), type(value).__name__)


def field_of(name: str, type: object) -> dict[str, object]:
    """Return a field as Avro in JSON; one that can be null is null if it is missing."""
    field: dict[str, object] = {"name": name, "type": type}
    return field | {"default": None} if isinstance(type, list) and type[0] == "null" else field


def type_name(path: str) -> str:
    """Return the name of a record for the path of a column or the name of a source."""
    return "".join(_capitalized(path)) or "Record"


def _capitalized(path: str) -> Iterator[str]:
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", path) if part]
    if parts and parts[0][0].isdigit():
        yield "Record"
    for part in parts:
        yield part[0].upper() + part[1:]
