"""Which parts of a writer's and a reader's schema belong together. Avro specification 1.12, "Schema Resolution".

Where the specification says "the first schema that matches" of a reader's union, an equal type or full name is
preferred to an equal short name, and that to a promotion, as Avro's Java implementation does: an `int` is read as `int`
by `["double", "int"]`. Records from DDL text have no name and match a record of any name.
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
"""A writer's primitive to the reader's primitives it can be read as, beside itself."""


def promotes(writer: Schema, reader: Schema) -> bool:
    """Whether the reader's primitive is another one that takes the writer's values."""
    both = isinstance(writer, Primitive) and isinstance(reader, Primitive)
    return both and reader.type in PROMOTIONS.get(writer.type, ())  # type: ignore[union-attr]


def same_kind(writer: Schema, reader: Schema) -> bool:
    """Whether both are records, both arrays, both the same primitive and so on."""
    if isinstance(writer, Primitive) and isinstance(reader, Primitive):
        return writer.type == reader.type
    return type(writer) is type(reader)


def same_name(writer: Definition, reader: Definition) -> bool:
    """Whether the full names are equal, or the writer's is an alias of the reader's type."""
    return writer.name == reader.name or writer.name in reader.aliases


def names_match(writer: Definition, reader: Definition) -> bool:
    """Whether the names let the reader's type be read from the writer's."""
    if isinstance(writer, Record) and (is_unnamed(writer.name) or is_unnamed(reader.name)):
        return True
    return short_name(writer.name) == short_name(reader.name) or writer.name in reader.aliases


def choose_branch(writer: Schema, union: Union, reader: Contract) -> int | None:
    """The branch (from 0) of the reader's union that reads the writer's schema, which is no union; None: there is none.

    Arguments:
        writer: a schema that is no name (`Contract.resolve`).
        union: the reader's.
        reader: where names in the union are looked up.
    """
    branches = [reader.resolve(branch) for branch in union.branches]
    ranked = [(rank, number) for number, branch in enumerate(branches) if (rank := _rank(writer, branch)) is not None]
    return min(ranked)[1] if ranked else None


def _rank(writer: Schema, branch: Schema) -> int | None:
    """How well a branch fits, 0 the best; None when it does not."""
    if not same_kind(writer, branch):
        return 3 if promotes(writer, branch) else None
    if not isinstance(writer, Record | Enum | Fixed) or not isinstance(branch, Record | Enum | Fixed):
        return 0
    if same_name(writer, branch):
        return 0
    if not names_match(writer, branch):
        return None
    sizes = isinstance(writer, Fixed) and isinstance(branch, Fixed) and writer.size != branch.size
    return 2 if sizes else 1


def field_in(writer: Record, wanted: Field) -> Field | None:
    """The writer's field that the reader's field is read from: by name, else by the reader's aliases in order."""
    by_name = {one.name: one for one in writer.fields}
    return next((by_name[name] for name in (wanted.name, *wanted.aliases) if name in by_name), None)
