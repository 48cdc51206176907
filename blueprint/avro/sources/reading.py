"""`ReadPlan`: how a writer's data is converted to a reader's schema. `planner.resolve_plan` creates it.

A plan is plain data. It has one node for every place of the reader's schema that uses data of the writer:

* `Take`: the unchanged value (a primitive, or a fixed of the same size).
* `Promote`: a promoted primitive (`int` to `long`, `float`, `double`; `long` to `float`, `double`; `float` to
  `double`; `string` to `bytes` and back).
* `MapEnum`: every symbol of the writer is mapped to a symbol of the reader.
* `ReadArray`, `ReadMap`: the node inside applies to every item or value.
* `ReadRecord`: the reader's fields in the reader's order, each from a field of the writer or from its default.
* `FromUnion`: the writer has a union: one node per branch, in the writer's order.
* `IntoUnion`: the reader has a union: the value becomes its branch number `branch`. If both have unions, the nodes of a
  `FromUnion` are `IntoUnion`.
* `Again`: a recursive record; continue with the enclosing `ReadRecord` of the same two names. Spark has no recursive
  types, so plans for Spark do not contain it.

`writer` and `reader` are the schemas at that place, with names resolved, so that a plan can be executed without the
contracts; they include the logical types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.avro.model import Array, Enum, Fixed, Map, Primitive, Record, Schema, Union


@dataclass(frozen=True, slots=True)
class Take:
    """The unchanged value; the logical types may differ."""

    writer: Primitive | Fixed
    reader: Primitive | Fixed


@dataclass(frozen=True, slots=True)
class Promote:
    """The value promoted to another primitive type."""

    writer: Primitive
    reader: Primitive


@dataclass(frozen=True, slots=True)
class MapEnum:
    """A mapping of symbols.

    Arguments:
        writer: the writer's enum.
        reader: the reader's enum.
        symbols: the reader's symbol for every symbol of the writer: the same symbol, or the reader's default.
    """

    writer: Enum
    reader: Enum
    symbols: Mapping[str, str] = field(hash=False)

    @property
    def same(self) -> bool:
        """Whether every symbol is mapped to itself."""
        return all(old == new for old, new in self.symbols.items())


@dataclass(frozen=True, slots=True)
class ReadArray:
    """An array whose items are read with `items`."""

    writer: Array
    reader: Array
    items: ReadPlan


@dataclass(frozen=True, slots=True)
class ReadMap:
    """A map whose values are read with `values`; keys are unchanged."""

    writer: Map
    reader: Map
    values: ReadPlan


@dataclass(frozen=True, slots=True)
class FromField:
    """The reader's field `name`, read from the writer's field `source`."""

    name: str
    source: str
    plan: ReadPlan


@dataclass(frozen=True, slots=True)
class FromDefault:
    """A field of the reader that the writer does not have.

    Arguments:
        name: the name of the field.
        schema: the reader's type of the field; the reader's contract resolves names in it (`Contract.resolve`).
        default: JSON data in the form of Avro defaults (bytes as a string of code points 0 to 255).
        branch: for a union, the number of the branch of the default; otherwise None.
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
    """One node per branch of the writer's union, in the writer's order."""

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
    """A recursive use of the enclosing `ReadRecord` with these full names."""

    writer: str
    reader: str


ReadPlan = Take | Promote | MapEnum | ReadArray | ReadMap | ReadRecord | FromUnion | IntoUnion | Again
