"""`ReadPlan`: what turns a writer's data into a reader's. Data only; `resolution.resolve_plan` makes it.

A plan has one node for every place of the reader's schema that takes something from the writer:

* `Take`: the value as it is (a primitive, or a fixed of the same size).
* `Promote`: a wider primitive (`int` to `long`, `float`, `double`; `long` to `float`, `double`; `float` to
  `double`; `string` to `bytes` and back).
* `MapEnum`: every symbol of the writer becomes one of the reader.
* `ReadArray`, `ReadMap`: the node inside goes for every item or value.
* `ReadRecord`: the reader's fields in the reader's order; each from a field of the writer, or its default.
* `FromUnion`: the writer has a union: one node per branch of the writer's, in the writer's order.
* `IntoUnion`: the reader has a union: the value becomes its branch number `branch`. Where both have unions,
  `FromUnion` comes first and its nodes are `IntoUnion`.
* `Again`: a record inside itself; continue with the `ReadRecord` of the same two names further out. Spark carries no
  recursive types, so what runs on Spark never meets it.

`writer` and `reader` are the schemas at that place (never `Named`: names are looked up), so that a plan can be executed
without either contract; logical types are read there, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.avro.model import Array, Enum, Fixed, Map, Primitive, Record, Schema, Union


@dataclass(frozen=True, slots=True)
class Take:
    """The value as it is; the two may still differ in their logical types."""

    writer: Primitive | Fixed
    reader: Primitive | Fixed


@dataclass(frozen=True, slots=True)
class Promote:
    """The value as a wider type."""

    writer: Primitive
    reader: Primitive


@dataclass(frozen=True, slots=True)
class MapEnum:
    """A symbol for a symbol.

    Arguments:
        symbols: for every symbol of the writer the reader's (itself, or the reader's default).
        same: whether each becomes itself, so that nothing has to be done.
    """

    writer: Enum
    reader: Enum
    symbols: Mapping[str, str] = field(hash=False)

    @property
    def same(self) -> bool:
        """Whether every symbol becomes itself."""
        return all(old == new for old, new in self.symbols.items())


@dataclass(frozen=True, slots=True)
class ReadArray:
    """Every item by `items`."""

    writer: Array
    reader: Array
    items: ReadPlan


@dataclass(frozen=True, slots=True)
class ReadMap:
    """Every value by `values`; keys stay."""

    writer: Map
    reader: Map
    values: ReadPlan


@dataclass(frozen=True, slots=True)
class FromField:
    """A field of the reader called `name`, out of the writer's field `source`."""

    name: str
    source: str
    plan: ReadPlan


@dataclass(frozen=True, slots=True)
class FromDefault:
    """A field of the reader that the writer does not have.

    Arguments:
        name: of the field.
        schema: the reader's type of it; names inside it are the reader's contract's (`Contract.resolve`).
        default: as JSON data, in the form the Avro specification gives defaults (bytes as text of code points 0-255).
        branch: for a union, the number of the branch the default belongs to; else None.
    """

    name: str
    schema: Schema
    default: object = field(hash=False)
    branch: int | None = None


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The reader's fields, in the reader's order."""

    writer: Record
    reader: Record
    fields: tuple[FromField | FromDefault, ...]


@dataclass(frozen=True, slots=True)
class FromUnion:
    """One node for every branch of the writer's union, in the writer's order."""

    writer: Union
    branches: tuple[ReadPlan, ...]


@dataclass(frozen=True, slots=True)
class IntoUnion:
    """The value of `plan` as branch number `branch` (from 0) of the reader's union."""

    reader: Union
    branch: int
    plan: ReadPlan


@dataclass(frozen=True, slots=True)
class Again:
    """The record pair of these full names, which stands further out in the same plan."""

    writer: str
    reader: str


ReadPlan = Take | Promote | MapEnum | ReadArray | ReadMap | ReadRecord | FromUnion | IntoUnion | Again
