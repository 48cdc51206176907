"""A query's analyzed plan as data: its nodes and their expressions, from the JSON that Spark makes of a plan.

The printed plan (`plan_tree`) shows literals without quotes, so two expressions may print alike. The JSON has every
expression with its fields. It lacks what Spark cannot write as JSON, which `PlanPart.node` has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STRUCTURE = ("class", "num-children")


@dataclass(slots=True)
class Expression:
    """An expression, or a part of a plan that is inside of one.

    Arguments:
        name: the name of its class in Spark, such as `GreaterThan`.
        fields: its other fields by name: JSON, or expressions.
        children: the expressions that it is made of.
    """

    name: str
    fields: dict[str, Any]
    children: list[Expression] = field(default_factory=list)

    def all(self) -> Iterator[Expression]:
        """Yield the expression and all expressions in it, from the top."""
        yield self
        for child in self.children:
            yield from child.all()
        for value in self.fields.values():
            for inner in expressions_in(value):
                yield from inner.all()

    @property
    def id(self) -> int | None:
        """Its number if it is a column or names one; numbers differ from one analysis to the next."""
        number = self.fields.get("exprId")
        return int(number["id"]) if isinstance(number, dict) else None


@dataclass(slots=True)
class PlanPart:
    """A node of a plan.

    Arguments:
        name: the name of its class in Spark, such as `Aggregate`.
        fields: its fields by name: JSON, or expressions, single or in lists.
        children: the nodes below it.
        node: the node itself, in Java.
    """

    name: str
    fields: dict[str, Any]
    children: list[PlanPart]
    node: Any

    def all(self) -> Iterator[PlanPart]:
        """Yield the node and all nodes below it, from the top."""
        yield self
        for child in self.children:
            yield from child.all()

    @property
    def streaming(self) -> bool:
        """Whether it works on a stream."""
        return any(part.name.startswith("StreamingRelation") for part in self.all())

    @property
    def text(self) -> str:
        """The line that Spark prints of it."""
        return str(self.node.simpleString(1_000_000))

    def expressions(self, name: str) -> list[Expression]:
        """Return the expressions in a field, () if it has none."""
        return list(expressions_in(self.fields.get(name)))


def expressions_in(value: Any) -> Iterator[Expression]:
    """Yield the outermost expressions in the value of a field."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from expressions_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from expressions_in(item)


def plan_of(frame: DataFrame) -> PlanPart:
    """Return the analyzed plan of a frame."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark has no public way
    return _part(iter(json.loads(plan.toJSON())), plan)


def _part(nodes: Iterator[dict[str, Any]], node: Any) -> PlanPart:
    data = next(nodes)
    fields = {name: _value(value) for name, value in data.items() if name not in _STRUCTURE}
    below = node.children()
    children = [_part(nodes, below.apply(index)) for index in range(data["num-children"])]
    return PlanPart(_simple(data["class"]), fields, children, node)


def _expression(nodes: Iterator[dict[str, Any]]) -> Expression:
    data = next(nodes)
    fields = {name: _value(value) for name, value in data.items() if name not in _STRUCTURE}
    return Expression(_simple(data["class"]), fields, [_expression(nodes) for _ in range(data["num-children"])])


def _value(value: Any) -> Any:
    """Return the value of a field, with the lists that are expressions as such."""
    if isinstance(value, list):
        if value and isinstance(value[0], dict) and "num-children" in value[0]:
            return _expression(iter(value))
        return [_value(item) for item in value]
    if isinstance(value, dict) and "product-class" in value and "exprId" not in value:
        return {name: _value(item) for name, item in value.items()}
    return value


def _simple(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$")[2] or name.rpartition(".")[2]
