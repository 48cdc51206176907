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


NO_DEFAULT = _NoDefault()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; `default` is JSON data, or `NO_DEFAULT`."""

    name: str
    schema: Schema
    default: object = NO_DEFAULT
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
    names: dict[str, Record | Enum | Fixed] = field(compare=False)
    json: str = field(compare=False)
    fingerprint: str
    file: str | None = field(default=None, compare=False)
