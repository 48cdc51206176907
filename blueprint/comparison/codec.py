"""Codecs between JSON and dataclasses: each reads a value, or reports a mistake at its place, and writes values.

The fields of a dataclass are its format: `codec_of` returns a codec for their types, `key` adds what types do not say.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, Generic, Protocol, TypeVar, Union, cast, get_args, get_origin

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
class Plain:
    """A single value of a type.

    Arguments:
        type: of the value; None for any JSON.
        expected: what the value must be; completes "must be ...".
    """

    type: type | None
    expected: str = ""

    def read(self, value: Value, key: str, contracts: Contracts) -> Any:
        """Return the value; see `Codec.read`."""
        data = plain(value)
        if self.type is not None and data.__class__ is not self.type:
            raise invalid(value, f"`{key}` of the descriptor must be {self.expected}")
        return data

    def write(self, data: Any) -> Json:
        """Return the value."""
        return cast(Json, data)


@dataclass(frozen=True, slots=True)
class Items:
    """A list.

    Arguments:
        each: the codec of all items; None if each has its own.
        own: the codecs of the items of a list of fixed length.
    """

    each: Codec[Any] | None = None
    own: tuple[Codec[Any], ...] = ()

    def read(self, value: Value, key: str, contracts: Contracts) -> tuple[Any, ...]:
        """Return the items; see `Codec.read`."""
        if not isinstance(value, ListValue):
            raise invalid(value, f"`{key}` of the descriptor must be a list")
        if self.each is None and len(value.items) != len(self.own):
            raise invalid(value, f"an item of `{key}` of the descriptor must be a list of {len(self.own)} values")
        return tuple(codec.read(item, key, contracts) for codec, item in self._each(value.items))

    def write(self, data: tuple[Any, ...]) -> Json:
        """Return the items in their order."""
        return [codec.write(item) for codec, item in self._each(data)]

    def _each(self, items: tuple[T, ...]) -> Iterator[tuple[Codec[Any], T]]:
        return zip(repeat(self.each) if self.each is not None else self.own, items, strict=False)


@dataclass(frozen=True, slots=True)
class Named:
    """An object with names as keys, all of whose values have a codec. It is written in the order of the names."""

    of: Codec[Any]

    def read(self, value: Value, key: str, contracts: Contracts) -> dict[str, Any]:
        """Return the values by name; see `Codec.read`."""
        if not isinstance(value, ObjectValue):
            raise invalid(value, f"`{key}` of the descriptor must be an object")
        return {name: self.of.read(item, name, contracts) for name, item in value.fields.items()}

    def write(self, data: Mapping[str, Any]) -> Json:
        """Return the values by name."""
        return {name: self.of.write(data[name]) for name in sorted(data)}


class Schema:
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

    def write(self, data: Contract) -> dict[str, Json]:
        """Return fingerprint and schema."""
        return {"fingerprint": data.fingerprint, "schema": json.loads(data.json)}


@dataclass(frozen=True, slots=True)
class Key:
    """What the type of a field does not say about its key.

    Arguments:
        name: the key; default: the name of the field with `-` for `_`.
        sparse: whether the key is omitted when the field has its default.
        required: whether the key must be set although the field has a default.
        default: the value if the key is missing or null; None for the default of the field, or an error if it has none.
        written: whether the field is written at all.
    """

    name: str | None = None
    sparse: bool = False
    required: bool = False
    default: object = None
    written: bool = True


def key(name: str | None = None, **how: Any) -> Mapping[str, Key]:
    """Return the metadata of a field; for the arguments see `Key`."""
    return {_KEY: Key(name, **how)}


_KEY = "key"


class Record(Generic[T]):
    """A dataclass as an object. The keys of a contract are next to the keys of the other fields.

    Arguments:
        type: the dataclass.
    """

    def __init__(self, type: type[T]) -> None:
        annotations = inspect.get_annotations(type, eval_str=True)
        own = [(field, field.metadata.get(_KEY, Key())) for field in fields(type) if field.init]  # type: ignore[arg-type]
        self._type = type
        self._keys = [(field, how, codec_of(annotations[field.name])) for field, how in own if how.written]

    def read(self, value: Value, key: str, contracts: Contracts) -> T:
        """Return the dataclass; see `Codec.read`."""
        if not isinstance(value, ObjectValue):
            raise invalid(value, f"`{key}` of the descriptor must be an object")
        data = {}
        for field, how, codec in self._keys:
            name = how.name or field.name.replace("_", "-")
            inner = value if isinstance(codec, Schema) else value.fields.get(name)
            if inner is not None and not is_null(inner):
                data[field.name] = codec.read(inner, key if inner is value else name, contracts)
            elif how.default is not None:
                data[field.name] = how.default
            elif how.required or (field.default is MISSING and field.default_factory is MISSING):
                raise invalid(value, f"the descriptor lacks `{name}` here")
        return self._type(**data)

    def write(self, data: T) -> Json:
        """Return the object."""
        written: dict[str, Json] = {}
        for field, how, codec in self._keys:
            value = getattr(data, field.name)
            if isinstance(codec, Schema):
                written |= codec.write(value)
            elif not how.sparse or value != _default(field):
                written[how.name or field.name.replace("_", "-")] = None if value is None else codec.write(value)
        return written


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


_ANYTHING = Plain(None)
_PLAIN = {
    str: Plain(str, "a string"),
    int: Plain(int, "a whole number"),
    bool: Plain(bool, "`true` or `false`"),
}


def codec_of(type: Any) -> Codec[Any]:
    """Return the codec of a type: of single values, contracts, dataclasses, tuples, and mappings by name.

    A `dict` is an object of any JSON, written in its own order. A value that may be null has the codec of its type, any
    other union is any JSON.
    """
    arguments = get_args(type)
    match get_origin(type):
        case origin if origin in (Union, UnionType):
            members = [member for member in arguments if member is not NoneType]
            return codec_of(members[0]) if len(members) == 1 else _ANYTHING
        case origin if origin is tuple:
            item, *others = arguments
            return Items(codec_of(item)) if others == [...] else Items(own=tuple(map(codec_of, arguments)))
        case origin if origin is Mapping:
            return Named(codec_of(arguments[1]))
        case origin if origin is dict:
            return Plain(dict, "an object")
    if type is Contract:
        return Schema()
    return _PLAIN[type] if type in _PLAIN else Record(type)
