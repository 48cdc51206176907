"""Avro schemas as data. Parts of a schema from a file have their location in it.

The terms are from the Avro specification 1.12.
"""

from __future__ import annotations

import json as json_module
from dataclasses import dataclass, field

from blueprint.diagnostics import Span
from blueprint.html import html_table

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical type: `decimal` has precision and scale, the others only their name."""

    name: str
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Primitive:
    """One of `PRIMITIVES`, with its logical type if it has a valid one."""

    type: str
    logical: Logical | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A named type of `size` bytes."""

    name: str
    size: int
    aliases: tuple[str, ...] = ()
    logical: Logical | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Enum:
    """A choice of symbols; `default` is what a reader uses for an unknown symbol."""

    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: tuple[str, ...] = ()
    doc: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Array:
    """A list of items."""

    items: Schema
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Map:
    """Values under string keys."""

    values: Schema
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Union:
    """One of several branches."""

    branches: tuple[Schema, ...]
    span: Span | None = field(default=None, compare=False)


class _NoDefault:
    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"  # a contract that was pickled must refer to the same object again


NO_DEFAULT = _NoDefault()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; `default` is JSON data, or `NO_DEFAULT`."""

    name: str
    schema: Schema
    default: object = field(default=NO_DEFAULT, hash=False)
    aliases: tuple[str, ...] = ()
    doc: str = ""
    span: Span | None = field(default=None, compare=False)

    @property
    def has_default(self) -> bool:
        """Whether a reader has a value for records without this field."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Record:
    """Named fields. `name` is the full name, with the namespace."""

    name: str
    fields: tuple[Field, ...]
    aliases: tuple[str, ...] = ()
    doc: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A reference, by full name, to a record, enum or fixed in the same schema; it may be recursive."""

    name: str
    span: Span | None = field(default=None, compare=False)


Schema = Primitive | Fixed | Enum | Array | Map | Union | Record | Named
Definition = Record | Enum | Fixed

UNNAMED = "unnamed"
"""Namespace of records without a name (from Spark DDL); such a record matches a record of any name."""


def is_unnamed(name: str) -> bool:
    """Return whether a full name was generated for a record without a name."""
    return name.startswith(f"{UNNAMED}.")


def short_name(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(".")[2]


def namespace_of(name: str) -> str:
    """Return the namespace of a full name, "" when it has none."""
    return name.rpartition(".")[0]


def type_text(schema: Schema) -> str:
    """Return a type as messages show it: `long (timestamp-micros)`, `array<string>`, `record weather.Reading`."""
    match schema:
        case Primitive():
            return schema.type + _logical_text(schema.logical)
        case Fixed():
            return f"fixed {schema.name}({schema.size})" + _logical_text(schema.logical)
        case Enum():
            return f"enum {schema.name}"
        case Array():
            return f"array<{type_text(schema.items)}>"
        case Map():
            return f"map<{type_text(schema.values)}>"
        case Union():
            return "[" + ", ".join(type_text(branch) for branch in schema.branches) + "]"
        case Record():
            return "record" if is_unnamed(schema.name) else f"record {schema.name}"
        case Named():
            return "record" if is_unnamed(schema.name) else schema.name


def _logical_text(logical: Logical | None) -> str:
    if logical is None:
        return ""
    if logical.name == "decimal":
        return f" (decimal({logical.precision}, {logical.scale or 0}))"
    return f" ({logical.name})"


@dataclass(frozen=True, slots=True)
class Contract:
    """The complete schema of a port's records.

    Arguments:
        record: the root; contracts of ports are always records.
        names: every named type in it, by full name.
        json: the complete schema as JSON text, with defaults, aliases and logical types. It is stored with the data,
            and parsing it gives an equal contract.
        fingerprint: 16 hexadecimal digits, the first 64 bits of the SHA-256 of parsing canonical form, logical types,
            precision and scale.
        file: the `.avsc` (or Python) file that defines it, None if there is none.
    """

    record: Record
    names: dict[str, Definition] = field(compare=False)
    json: str = field(compare=False)
    fingerprint: str
    file: str | None = field(default=None, compare=False)

    def resolve(self, schema: Schema) -> Primitive | Fixed | Enum | Array | Map | Union | Record:
        """Return the definition of a name; other schemas are returned as they are.

        Raises:
            KeyError: the contract does not define the name.
        """
        return self.names[schema.name] if isinstance(schema, Named) else schema

    def _repr_html_(self) -> str:
        """Return the fields of the records as a table for a notebook."""
        title = "a record" if is_unnamed(self.record.name) else f"`{self.record.name}`"
        rows = [
            (
                f"`{own.name}`",
                type_text(own.schema),
                f"`{json_module.dumps(own.default)}`" if own.has_default else "",
                own.doc,
            )
            for own in self.record.fields
        ]
        return html_table(title, ("field", "type", "default", "meaning"), rows)
