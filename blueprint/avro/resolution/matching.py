"""Rules by which parts of a writer's and a reader's schema match. Avro specification 1.12, "Schema Resolution".

For a reader's union, the specification says "the first schema that matches". Like Avro's Java implementation, an equal
type or full name is preferred to an equal short name, and that to a promotion: `["double", "int"]` reads an `int` as
`int`. Records from DDL text have no name and match a record of any name.
"""

from __future__ import annotations

from blueprint.avro.model import (
    Contract,
    Definition,
    Enum,
    Field,
    Fixed,
    Primitive,
    Record,
    Schema,
    Union,
    is_unnamed,
    short_name,
)

PROMOTIONS: dict[str, tuple[str, ...]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""Primitive types of a writer, and the other primitive types that a reader can read them as."""


def promotes(writer: Schema, reader: Schema) -> bool:
    """Return whether the writer's primitive type is promoted to the reader's, a different one."""
    both = isinstance(writer, Primitive) and isinstance(reader, Primitive)
    return both and reader.type in PROMOTIONS.get(writer.type, ())  # type: ignore[union-attr]


def same_kind(writer: Schema, reader: Schema) -> bool:
    """Return whether both schemas are records, arrays, the same primitive type, and so on."""
    if isinstance(writer, Primitive) and isinstance(reader, Primitive):
        return writer.type == reader.type
    return type(writer) is type(reader)


def same_name(writer: Definition, reader: Definition) -> bool:
    """Return whether the full names are equal, or the writer's name is an alias of the reader's type."""
    return writer.name == reader.name or writer.name in reader.aliases


def names_match(writer: Definition, reader: Definition) -> bool:
    """Return whether the names allow the reader's type to be read from the writer's."""
    if isinstance(writer, Record) and (is_unnamed(writer.name) or is_unnamed(reader.name)):
        return True
    return short_name(writer.name) == short_name(reader.name) or writer.name in reader.aliases


def choose_branch(writer: Schema, union: Union, reader: Contract) -> int | None:
    """Return the number (from 0) of the branch that reads the writer's schema; None if no branch does.

    Arguments:
        writer: a schema that is neither a union nor a name (`Contract.resolve`).
        union: the union of the reader.
        reader: the contract that defines the names in the union.
    """
    branches = [reader.resolve(branch) for branch in union.branches]
    ranked = [(rank, number) for number, branch in enumerate(branches) if (rank := _rank(writer, branch)) is not None]
    return min(ranked)[1] if ranked else None


def _rank(writer: Schema, branch: Schema) -> int | None:
    """Return how well a branch matches, 0 for the best; None if it does not match."""
    if not same_kind(writer, branch):
        return 3 if promotes(writer, branch) else None
    if not isinstance(writer, Record | Enum | Fixed) or not isinstance(branch, Record | Enum | Fixed):
        return 0
    if same_name(writer, branch):
        return 0
    if not names_match(writer, branch):
        return None
    other_size = isinstance(writer, Fixed) and isinstance(branch, Fixed) and writer.size != branch.size
    return 2 if other_size else 1


def field_in(writer: Record, wanted: Field) -> Field | None:
    """Return the writer's field that a reader's field is read from: by name, else by the aliases in order."""
    by_name = {field.name: field for field in writer.fields}
    return next((by_name[name] for name in (wanted.name, *wanted.aliases) if name in by_name), None)
