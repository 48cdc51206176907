"""The columns of nodes and expressions, and the sides of the conditions of joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamlets.spark.plan_json import Expression

Column = tuple[str, int]
"""The name and the number of a column."""


def columns_of(expressions: Iterable[Expression]) -> list[Column]:
    """Return the columns that expressions define; one without a number has -1."""
    return [
        (str(expression.fields.get("name", "")), -1 if expression.id is None else expression.id)
        for expression in expressions
    ]  # fmt: skip


def numbers_of(columns: Iterable[Column]) -> set[int]:
    """Return the numbers of columns."""
    return {number for _, number in columns}


def references(expressions: Iterable[Expression]) -> set[int]:
    """Return the numbers of the columns that expressions use."""
    return {
        inner.id for expression in expressions for inner in expression.all()
        if inner.name == "AttributeReference" and inner.id is not None
    }  # fmt: skip


def conjuncts_of(condition: Expression) -> Iterator[Expression]:
    """Yield the conditions that must all hold for a condition to hold."""
    if condition.name == "And":
        for child in condition.children:
            yield from conjuncts_of(child)
    else:
        yield condition


def sides_of(condition: Expression, left: set[int], right: set[int]) -> tuple[Expression, Expression] | None:
    """Return the sides of an equation of both sides of a join, the left one first; None for another condition."""
    if condition.name not in ("EqualTo", "EqualNullSafe"):
        return None
    one, other = condition.children
    used = references([one]), references([other])
    if all(used):
        if used[0] <= left and used[1] <= right:
            return one, other
        if used[0] <= right and used[1] <= left:
            return other, one
    return None
