"""What Spark cannot carry of a contract: one finding each, at the field."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.avro.model import Array, Contract, Field, Fixed, Map, Primitive, Record, Schema, Union, type_text
from blueprint.avro.spark_types import wider_of
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding

MAX_PRECISION = 38
"""Digits of a Spark decimal."""

_NULL = Primitive("null")


def spark_problems(contract: Contract) -> tuple[Diagnostic, ...]:
    """What Spark cannot carry of a contract, one finding each, at the field; a record used in many places is looked at
    once."""
    return tuple(_problems(contract.record, contract, (), set()))


def _problems(record: Record, contract: Contract, around: tuple[str, ...], seen: set[str]) -> Iterator[Diagnostic]:
    if record.name in seen:
        return
    seen.add(record.name)
    if not record.fields:
        headline = f"Spark cannot carry the record `{record.name}`: it has no fields"
        yield finding("schema-unsupported-by-spark", headline, record.span)
    inside = (*around, record.name)
    columns: dict[str, Field] = {}
    for one in record.fields:
        other = columns.setdefault(one.name.lower(), one)
        if other is not one:
            why = f"Spark does not tell it from `{other.name}`"
            yield _problem(record, one, one.span, why, "give one of them another name")
        yield from _problems_inside(record, one, one.schema, contract, inside, seen)


def _problems_inside(
    record: Record, owner: Field, schema: Schema, contract: Contract, around: tuple[str, ...], seen: set[str]
) -> Iterator[Diagnostic]:
    held = contract.resolve(schema)
    match held:
        case Record() if held.name in around:
            advice = "hold a key to the other record instead, or a level or two of it under names of their own"
            yield _problem(record, owner, schema.span, f"the record `{held.name}` holds itself", advice)
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
            why = f"its decimals have {logical.precision} digits, and Spark's have {MAX_PRECISION} at most"
            yield _problem(record, owner, schema.span, why, "lower the precision, or hold it as a string")


def _union_problems(record: Record, owner: Field, union: Union) -> Iterator[Diagnostic]:
    rest = tuple(branch for branch in union.branches if branch != _NULL)
    if not rest:
        yield _problem(record, owner, union.span, "its union has null alone", "write the type `null` without a union")
    if wider_of(rest) and any(isinstance(one, Primitive) and one.logical for one in rest):
        why = f"the branches of `{type_text(union)}` become one number, and no reader can tell them apart"
        yield _problem(record, owner, union.span, why, "use two fields")


def _problem(record: Record, owner: Field, at: Span | None, why: str, advice: str) -> Diagnostic:
    headline = f"Spark cannot carry the field `{owner.name}` of `{record.name}`: {why}"
    return finding("schema-unsupported-by-spark", headline, at or owner.span, help=[advice])
