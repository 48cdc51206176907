"""Execution of a read plan on plain Python values, as simple as possible."""

from __future__ import annotations

from typing import Any

from blueprint.avro.model import Array, Map, Primitive, Schema
from blueprint.avro.sources.reading import (
    Again,
    FromDefault,
    FromField,
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


def execute(plan: ReadRecord, record: dict[str, Any]) -> dict[str, Any]:
    """Return the reader's record for a record of the writer, whose union values are pairs (branch, value) or None."""
    records: dict[tuple[str, str], ReadRecord] = {}

    def run(node: ReadPlan, value: Any) -> Any:
        match node:
            case Take():
                return value
            case Promote(reader=Primitive(type=kind)):
                return _promoted(value, kind)
            case MapEnum(symbols=symbols):
                return symbols[value]
            case ReadArray(items=items):
                return [run(items, item) for item in value]
            case ReadMap(values=values):
                return {key: run(values, item) for key, item in value.items()}
            case FromUnion(writer=union, branches=branches):
                name, inner = ("null", None) if value is None else value
                number = [_branch_name(branch) for branch in union.branches].index(name)
                return run(branches[number], inner)
            case IntoUnion(plan=inner_plan):
                return run(inner_plan, value)
            case Again(writer=writer, reader=name):
                return run(records[writer, name], value)
            case ReadRecord():
                records[node.writer.name, node.reader.name] = node
                return {field.name: _field(field, value) for field in node.fields}

    def _field(field: FromField | FromDefault, value: dict[str, Any]) -> Any:
        # Like fastavro, which leaves the default of bytes the text that JSON has.
        return field.default if isinstance(field, FromDefault) else run(field.plan, value[field.source])

    result: dict[str, Any] = run(plan, record)
    return result


def _promoted(value: Any, kind: str) -> Any:
    if kind == "string":
        return value.decode()
    if kind == "bytes":
        return value.encode()
    return float(value) if kind in ("float", "double") else value


def _branch_name(branch: Schema) -> str:
    match branch:
        case Primitive():
            return branch.type
        case Array():
            return "array"
        case Map():
            return "map"
    return branch.name  # type: ignore[union-attr]
