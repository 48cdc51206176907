"""Apache Avro's Python reader as an oracle, and the list of its divergences from the specification.

`LIMITS` are the known divergences. Each has a pair that shows it (`test_divergences.py` fails when a release fixes it),
and a rule that finds the read plans of pairs that it may affect.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import avro.io
import avro.schema

from blueprint.avro.model import Array, Contract, Enum, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.sources.reading import (
    FromDefault,
    FromUnion,
    IntoUnion,
    MapEnum,
    Promote,
    ReadArray,
    ReadMap,
    ReadPlan,
    ReadRecord,
    Take,
)
from tests.blueprint.avro.schemas import Flat


class ApacheReader:
    """Decodes records of a writer's schema with a reader's schema."""

    def __init__(self, writer: Flat, reader: Flat) -> None:
        old, new = (avro.schema.parse(json.dumps(schema.nested())) for schema in (writer, reader))
        self._reader = avro.io.DatumReader(old, new)

    def decodes(self, data: bytes) -> bool:
        """Return whether a record can be read without an exception."""
        try:
            self._reader.read(avro.io.BinaryDecoder(io.BytesIO(data)))
        except Exception:  # noqa: BLE001 - it fails in many ways
            return False
        return True


@dataclass(frozen=True)
class Limit:
    """What the library cannot do, with a smallest pair of field types that shows it.

    Arguments:
        why: what it does instead, and what the specification (1.12, "Schema Resolution") says.
        writer, reader: fields of a record `n.R`.
        value: of a record that shows it.
    """

    why: str
    writer: list[dict[str, Any]]
    reader: list[dict[str, Any]]
    value: dict[str, Any]


def _field(name: str, type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


def _fixed(name: str) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": 1}


def _enum(symbols: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "n.E", "symbols": symbols, **more}


LIMITS = {
    "bytes-and-string": Limit(
        "It does not promote `bytes` to `string` and back. The specification lists both promotions.",
        [_field("a", "string")], [_field("a", "bytes")], {"a": "x"},
    ),
    "items-by-type": Limit(
        "Of arrays and maps it compares the types of items and values before it reads any, and wants them equal: no "
        "promotion, no union. The specification resolves items and values recursively.",
        [_field("a", {"type": "array", "items": "int"})], [_field("a", {"type": "array", "items": "long"})], {"a": [1]},
    ),
    "union-into-plain": Limit(
        "It rejects a writer's union for a reader's type that is not a union. The specification resolves the written "
        "branch.",
        [_field("a", ["int", "long"])], [_field("a", "long")], {"a": ("int", 1)},
    ),
    "enum-default": Limit(
        "It does not take the reader's default for a symbol that the reader lacks. The specification does.",
        [_field("a", _enum(["RED", "BLUE"]))], [_field("a", _enum(["RED"], default="RED"))], {"a": "BLUE"},
    ),
    "full-name": Limit(
        "It compares full names and knows no aliases of types. The specification compares unqualified names, and lets "
        "aliases of the reader name the writer's type.",
        [_field("a", _fixed("n.F"))], [_field("a", _fixed("m.F"))], {"a": b"x"},
    ),
    "field-alias": Limit(
        "It knows no aliases of fields: the reader's default is taken, or there is none. The specification leaves "
        "aliases to the implementation (\"may optionally be used\"); all others use them.",
        [_field("a", "int")], [_field("b", "int", aliases=["a"])], {"a": 1},
    ),
    "whole-default": Limit(
        "It refuses a whole number as the default of a float or double field (`7`, not `7.0`). The specification gives "
        "a JSON number, and JSON has one kind.",
        [_field("a", "int")], [_field("a", "int"), _field("b", "double", default=7)], {"a": 1},
    ),
}  # fmt: skip


def limits(plan: ReadPlan, writer: Contract, reader: Contract) -> frozenset[str]:
    """Return the limits that may affect a read plan; without any, the library must read all records."""
    return frozenset(_limits(plan, writer, reader))


def _limits(plan: ReadPlan, writer: Contract, reader: Contract) -> Iterator[str]:
    match plan:
        case Promote(writer=Primitive(type=old), reader=Primitive(type=new)) if {old, new} == {"bytes", "string"}:
            yield "bytes-and-string"
        case MapEnum() | Take(writer=Fixed()) | ReadRecord() if plan.writer.name != plan.reader.name:  # type: ignore[union-attr]
            yield "full-name"
    match plan:
        case MapEnum(same=False):
            yield "enum-default"
        case ReadArray(writer=Array(items=old_inside), reader=Array(items=new_inside), items=inside):
            yield from _inside(old_inside, new_inside, inside, writer, reader)
        case ReadMap(writer=Map(values=old_inside), reader=Map(values=new_inside), values=inside):
            yield from _inside(old_inside, new_inside, inside, writer, reader)
        case IntoUnion(plan=inner):
            yield from _limits(inner, writer, reader)
        case FromUnion(branches=branches):
            for branch in branches:
                if not isinstance(branch, IntoUnion):
                    yield "union-into-plain"
                yield from _limits(branch, writer, reader)
        case ReadRecord(fields=fields):
            for node in fields:
                if isinstance(node, FromDefault):
                    yield from _default(node)
                    continue
                if node.name != node.source:
                    yield "field-alias"
                yield from _limits(node.plan, writer, reader)


def _inside(old: Schema, new: Schema, plan: ReadPlan, writer: Contract, reader: Contract) -> Iterator[str]:
    if _type_of(writer.resolve(old)) != _type_of(reader.resolve(new)):
        yield "items-by-type"
    yield from _limits(plan, writer, reader)


def _type_of(schema: Primitive | Fixed | Enum | Array | Map | Union | Record) -> object:
    return schema.type if isinstance(schema, Primitive) else type(schema)


def _default(field: FromDefault) -> Iterator[str]:
    schema = field.schema.branches[0] if isinstance(field.schema, Union) else field.schema
    if isinstance(schema, Primitive) and schema.type in ("float", "double") and isinstance(field.default, int):
        yield "whole-default"


def aliased(writer: Flat, reader: Flat) -> bool:
    """Return whether a field of the reader names the writer's field in an alias.

    The library does not look for such a field, so it may use the default when it cannot read the value (`field-alias`).
    """
    written = [field["name"] for definition in writer.definitions.values() for field in definition.get("fields", ())]
    fields = [field for definition in reader.definitions.values() for field in definition.get("fields", ())]
    return any(alias in written for field in fields for alias in field.get("aliases", ()))
