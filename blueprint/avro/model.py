"""Avro schemas as data: every named or nested part knows where it was written, when it was written in a file.

Terms are the Avro specification's (1.12).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blueprint.diagnostics import Span

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical type: `decimal` carries precision and scale, the others only their name."""

    name: str
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Primitive:
    """One of `PRIMITIVES`, with a logical type where it has a known one."""

    type: str
    logical: Logical | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Fixed:
    """`size` bytes under a name."""

    name: str
    size: int
    aliases: tuple[str, ...] = ()
    logical: Logical | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Enum:
    """A choice of symbols; `default` is what a reader takes for a symbol it does not know."""

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
        return "NO_DEFAULT"  # contracts travel to other processes, where it must be the same object again


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
        """Whether a reader has a value to take when the writer has none."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Record:
    """Named fields. `name` is the full name (namespace and all)."""

    name: str
    fields: tuple[Field, ...]
    aliases: tuple[str, ...] = ()
    doc: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A use, by full name, of a record, enum or fixed defined elsewhere in the same schema (also recursively)."""

    name: str
    span: Span | None = field(default=None, compare=False)


Schema = Primitive | Fixed | Enum | Array | Map | Union | Record | Named
Definition = Record | Enum | Fixed

UNNAMED = "unnamed"
"""Namespace of records whose author gave them no name (Spark DDL text); such a record matches one of any name."""


def is_unnamed(name: str) -> bool:
    """Whether a full name only stands in for one that nobody gave."""
    return name.startswith(f"{UNNAMED}.")


def short_name(name: str) -> str:
    """The name without its namespace."""
    return name.rpartition(".")[2]


def namespace_of(name: str) -> str:
    """The namespace of a full name, "" when it has none."""
    return name.rpartition(".")[0]


def type_text(schema: Schema) -> str:
    """A type as messages show it: `long (timestamp-micros)`, `array<string>`, `record weather.Reading`."""
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
    """The schema of a port's records, complete in itself.

    Arguments:
        record: the root; contracts of ports are always records.
        names: every named type in it, by full name.
        json: the schema as canonical JSON text with everything a reader may need (defaults, aliases, logical
            types), which travels with the data and can be parsed again to an equal contract.
        fingerprint: 16 hexadecimal digits (the first 64 bits of a SHA-256) over parsing canonical form, logical
            types, precision and scale.
        file: the `.avsc` (or Python) file it was read from, None when it has none.
    """

    record: Record
    names: dict[str, Definition] = field(compare=False)
    json: str = field(compare=False)
    fingerprint: str
    file: str | None = field(default=None, compare=False)

    def resolve(self, schema: Schema) -> Primitive | Fixed | Enum | Array | Map | Union | Record:
        """The schema itself, or the definition it names; KeyError for a name the contract does not have."""
        return self.names[schema.name] if isinstance(schema, Named) else schema
