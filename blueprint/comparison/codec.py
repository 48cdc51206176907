"""Codecs between JSON and data: each reads a value, or reports what is wrong in its place, and writes it again.

`format.py` declares the format of descriptors with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Generic, Protocol, TypeVar

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import Json, ListValue, ObjectValue, Value, is_null, plain, span_of

T = TypeVar("T")

USE_UNMODIFIED = "use an unmodified descriptor written by `flow describe`"

Contracts = dict[str, Contract]
"""The contracts that were read from a file, by their JSON: each distinct one is parsed once."""


class DescriptorError(ValueError):
    """The text is not a descriptor; `diagnostic` is the finding about it."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.headline)
        self.diagnostic = diagnostic


def invalid(value: Value, headline: str, help: str = USE_UNMODIFIED) -> DescriptorError:
    """Return the error for a value of a descriptor."""
    return DescriptorError(finding("descriptor", headline, span_of(value), help=[help]))


class Codec(Protocol[T]):
    """Reads and writes values of a type."""

    def read(self, value: Value, key: str, contracts: Contracts) -> T:
        """Return the data of a value that is not null.

        Arguments:
            value: the JSON value.
            key: its key, for the message.
            contracts: those that were read before; new ones are added.

        Raises:
            DescriptorError: the value does not have the type.
        """

    def write(self, data: T) -> Json:
        """Return data as JSON."""


@dataclass(frozen=True, slots=True)
class Of(Generic[T]):
    """Plain JSON that a condition accepts.

    Arguments:
        expected: what the value must be; completes "must be ...".
        accepts: whether a plain value has the type.
        data: returns the data of such a value.
        json: returns data as JSON.
    """

    expected: str
    accepts: Callable[[Any], bool]
    data: Callable[[Any], T] = lambda value: value
    json: Callable[[T], Any] = lambda data: data

    def read(self, value: Value, key: str, contracts: Contracts) -> T:
        """Return the data of a value; see `Codec.read`."""
        json = plain(value)
        if not self.accepts(json):
            raise invalid(value, f"`{key}` of the descriptor must be {self.expected}")
        return self.data(json)

    def write(self, data: T) -> Json:
        """Return data as JSON."""
        written: Json = self.json(data)
        return written


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """A list, all of whose items have a codec."""

    of: Codec[T]

    def read(self, value: Value, key: str, contracts: Contracts) -> tuple[T, ...]:
        """Return the items; see `Codec.read`."""
        if not isinstance(value, ListValue):
            raise invalid(value, f"`{key}` of the descriptor must be a list")
        return tuple(self.of.read(item, key, contracts) for item in value.items)

    def write(self, data: tuple[T, ...]) -> Json:
        """Return the items in their order."""
        return [self.of.write(item) for item in data]


@dataclass(frozen=True, slots=True)
class Named(Generic[T]):
    """An object with names as keys, all of whose values have a codec. It is written in the order of the names."""

    of: Codec[T]

    def read(self, value: Value, key: str, contracts: Contracts) -> dict[str, T]:
        """Return the values by name; see `Codec.read`."""
        if not isinstance(value, ObjectValue):
            raise invalid(value, f"`{key}` of the descriptor must be an object")
        return {name: self.of.read(item, name, contracts) for name, item in value.fields.items()}

    def write(self, data: Mapping[str, T]) -> dict[str, Json]:
        """Return the values by name."""
        return {name: self.of.write(data[name]) for name in sorted(data)}


class _Schema:
    """An object with the key `schema`, next to keys of other fields. The key `fingerprint` is for people."""

    def read(self, value: Value, key: str, contracts: Contracts) -> Contract:
        """Return the contract; see `Codec.read`."""
        schema = value.get("schema") if isinstance(value, ObjectValue) else None
        if schema is None:
            raise invalid(value, f"`{key}` of the descriptor has no `schema`")
        text = json.dumps(plain(schema))
        if text not in contracts:
            loaded = load_contract(text, base_directory=".", declared=span_of(value))
            if loaded.contract is None:
                reason = loaded.problems[0].headline if loaded.problems else "it is not a record"
                raise invalid(schema, f"a schema of the descriptor cannot be read: {reason}")
            contracts[text] = loaded.contract
        return contracts[text]

    def write(self, data: Contract) -> Json:
        """Return fingerprint and schema."""
        return {"fingerprint": data.fingerprint, "schema": json.loads(data.json)}


@dataclass(frozen=True, slots=True)
class Key:
    """How a field of a dataclass is written.

    Arguments:
        codec: of its values.
        name: its key; default: the name of the field with `-` for `_`. If it is "", the codec's own keys are next to
            those of other fields.
        sparse: whether the key is omitted when the field has its default.
        default: the value if the key is missing or null; None for the default of the field, or an error if it has none.
        required: whether the key must be set although the field has a default.
    """

    codec: Codec[Any]
    name: str | None = None
    sparse: bool = False
    default: object = None
    required: bool = False


class Record(Generic[T]):
    """A dataclass as an object.

    Arguments:
        type: the dataclass.
        keys: how each of its fields is written, in this order.
    """

    def __init__(self, type: type[T], **keys: Key) -> None:
        defined: dict[str, Field[Any]] = {field.name: field for field in fields(type)}  # type: ignore[arg-type]
        self._type = type
        self._keys = [
            (defined[name], key, name.replace("_", "-") if key.name is None else key.name) for name, key in keys.items()
        ]

    def read(self, value: Value, key: str, contracts: Contracts) -> T:
        """Return the dataclass; see `Codec.read`."""
        if not isinstance(value, ObjectValue):
            raise invalid(value, f"`{key}` of the descriptor must be an object")
        data = {}
        for field, how, name in self._keys:
            inner = value.fields.get(name) if name else value
            if inner is not None and not is_null(inner):
                data[field.name] = how.codec.read(inner, name or key, contracts)
            elif how.default is not None:
                data[field.name] = how.default
            elif how.required or (field.default is MISSING and field.default_factory is MISSING):
                raise invalid(value, f"the descriptor lacks `{name}` here")
        return self._type(**data)

    def write(self, data: T) -> dict[str, Json]:
        """Return the object."""
        written: dict[str, Json] = {}
        for field, how, name in self._keys:
            value = getattr(data, field.name)
            if how.sparse and value == _default(field):
                continue
            json = None if value is None else how.codec.write(value)
            written |= {name: json} if name or not isinstance(json, dict) else json
        return written


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _is(type: type) -> Callable[[Any], bool]:
    return lambda value: value.__class__ is type


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


STRING: Codec[str] = Of("a string", _is(str))
WHOLE: Codec[int] = Of("a whole number", _is(int))
BOOLEAN: Codec[bool] = Of("`true` or `false`", _is(bool))
STRINGS: Codec[tuple[str, ...]] = Of("a list of strings", _is_list_of_strings, tuple, list)
ANYTHING: Codec[Json] = Of("JSON", lambda value: True)
SCHEMA: Codec[Contract] = _Schema()
