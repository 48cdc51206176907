"""Findings about the parts of a contract that Spark cannot represent."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.avro.model import Array, Contract, Field, Fixed, Map, Primitive, Record, Schema, Union, type_text
from blueprint.avro.spark_types import wider_of
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding

MAX_PRECISION = 38
"""Maximum precision of a Spark decimal."""

_NULL = Primitive("null")


def spark_problems(contract: Contract) -> tuple[Diagnostic, ...]:
    """Return a finding at each field that Spark cannot represent; a record used in many places is checked once."""
    return tuple(_problems(contract.record, contract, (), set()))


def _problems(record: Record, contract: Contract, around: tuple[str, ...], seen: set[str]) -> Iterator[Diagnostic]:
    if record.name in seen:
        return
    seen.add(record.name)
    if not record.fields:
        headline = f"Spark cannot represent the record `{record.name}`: it has no fields"
        yield finding("schema-unsupported-by-spark", headline, record.span)
    inside = (*around, record.name)
    columns: dict[str, Field] = {}
    for field in record.fields:
        other = columns.setdefault(field.name.lower(), field)
        if other is not field:
            why = f"its name differs from `{other.name}` only in case"
            yield _problem(record, field, field.span, why, "rename one of them")
        yield from _problems_inside(record, field, field.schema, contract, inside, seen)


def _problems_inside(
    record: Record, owner: Field, schema: Schema, contract: Contract, around: tuple[str, ...], seen: set[str]
) -> Iterator[Diagnostic]:
    held = contract.resolve(schema)
    match held:
        case Record() if held.name in around:
            advice = "store a key of the other record instead, or a fixed number of levels as separate types"
            yield _problem(record, owner, schema.span, f"the record `{held.name}` contains itself", advice)
        case Record():
            yield from _problems(held, contract, around, seen)
        case Array(items=inner) | Map(values=inner):
            yield from _problems_inside(record, owner, inner, contract, around, seen)
        case Union(branches=branches):
            yield from _union_problems(record, owner, held)
            for branch in branches:
                yield from _problems_inside(record, owner, branch, contract, around, seen)
        case Primitive(logical=logical) | Fixed(logical=logical) if (
            logical and (logical.precision or 0) > MAX_PRECISION
        ):
            why = f"its decimal precision is {logical.precision}, and Spark's maximum is {MAX_PRECISION}"
            yield _problem(record, owner, schema.span, why, "lower the precision, or store it as a string")


def _union_problems(record: Record, owner: Field, union: Union) -> Iterator[Diagnostic]:
    rest = tuple(branch for branch in union.branches if branch != _NULL)
    if not rest:
        yield _problem(
            record, owner, union.span, "its union contains only null", "write the type `null` without a union"
        )
    if wider_of(rest) and any(isinstance(branch, Primitive) and branch.logical for branch in rest):
        why = f"the branches of `{type_text(union)}` become one number, so readers cannot tell them apart"
        yield _problem(record, owner, union.span, why, "use two fields")


def _problem(record: Record, owner: Field, at: Span | None, why: str, advice: str) -> Diagnostic:
    headline = f"Spark cannot represent the field `{owner.name}` of `{record.name}`: {why}"
    return finding("schema-unsupported-by-spark", headline, at or owner.span, help=[advice])
