"""A read plan carried out on plain Python values: what the plan means, in the fewest words."""

from __future__ import annotations

from typing import Any

from blueprint.avro.model import Array, Map, Primitive, Schema
from blueprint.avro.reading import (
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
    """The reader's record out of one of the writer's, whose union values are pairs (branch, value) or None."""
    records: dict[tuple[str, str], ReadRecord] = {}

    def run(node: ReadPlan, value: Any) -> Any:
        match node:
            case Take():
                return value
            case Promote(reader=Primitive(type=wanted)):
                return _promoted(value, wanted)
            case MapEnum(symbols=symbols):
                return symbols[value]
            case ReadArray(items=items):
                return [run(items, one) for one in value]
            case ReadMap(values=values):
                return {key: run(values, one) for key, one in value.items()}
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
                return {one.name: _field(one, value) for one in node.fields}

    def _field(one: FromField | FromDefault, value: dict[str, Any]) -> Any:
        # Like fastavro, which leaves the default of bytes the text that JSON has.
        return one.default if isinstance(one, FromDefault) else run(one.plan, value[one.source])

    result: dict[str, Any] = run(plan, record)
    return result


def _promoted(value: Any, wanted: str) -> Any:
    if wanted == "string":
        return value.decode()
    if wanted == "bytes":
        return value.encode()
    return float(value) if wanted in ("float", "double") else value


def _branch_name(branch: Schema) -> str:
    match branch:
        case Primitive():
            return branch.type
        case Array():
            return "array"
        case Map():
            return "map"
    return branch.name  # type: ignore[union-attr]
