"""A query's analyzed plan as data: its nodes and their expressions, from the JSON that Spark makes of a plan.

The printed plan (`plan_tree`) shows literals without quotes, so two expressions may print alike. The JSON has every
expression with its fields. It has null for a field that Spark cannot write as JSON, such as a map of options;
`Expression.hidden` gets it from Java.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from streamlets.spark.plan_tree import analyzed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STRUCTURE = ("class", "num-children")


@dataclass(slots=True)
class Expression:
    """An expression, or a part of a plan that is inside of one.

    Arguments:
        name: the name of its class in Spark, such as `GreaterThan`.
        fields: its other fields by name: JSON, or expressions.
        java: returns the expression itself, in Java.
        children: the expressions that it is made of.
    """

    name: str
    fields: dict[str, Any]
    java: Callable[[], Any]
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

    def hidden(self, name: str) -> Any:
        """Return the value of a field that the JSON does not have, in Java; None for an option without a value."""
        return _opened(self.java().productElement(list(self.fields).index(name)))


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
    """Return the analyzed plan of a frame, without common table expressions."""
    return part_of(analyzed(frame))


def part_of(node: Any) -> PlanPart:
    """Return a plan that is a node in Java."""
    return _part(iter(json.loads(node.toJSON())), node)


def expression_of(java: Any) -> Expression:
    """Return an expression that is one in Java."""
    return _expression(iter(json.loads(java.toJSON())), lambda: java)


def _part(nodes: Iterator[dict[str, Any]], node: Any) -> PlanPart:
    data = next(nodes)
    fields = _fields(data, lambda: node)
    below = node.children()
    children = [_part(nodes, below.apply(index)) for index in range(data["num-children"])]
    return PlanPart(_simple(data["class"]), fields, children, node)


def _expression(nodes: Iterator[dict[str, Any]], java: Callable[[], Any]) -> Expression:
    data = next(nodes)
    children = [_expression(nodes, partial(_child, java, index)) for index in range(data["num-children"])]
    return Expression(_simple(data["class"]), _fields(data, java), java, children)


def _fields(data: dict[str, Any], java: Callable[[], Any]) -> dict[str, Any]:
    """Return the fields of a node; they are the elements of the product in Java, in this order."""
    named = [(name, value) for name, value in data.items() if name not in _STRUCTURE]
    return {name: _value(value, partial(_element, java, index)) for index, (name, value) in enumerate(named)}


def _value(value: Any, java: Callable[[], Any]) -> Any:
    """Return the value of a field, with the lists that are expressions as such."""
    if isinstance(value, list):
        if value and isinstance(value[0], dict) and "num-children" in value[0]:
            return _expression(iter(value), java)
        return [_value(item, partial(_item, java, index)) for index, item in enumerate(value)]
    if isinstance(value, dict) and "product-class" in value and "exprId" not in value:
        return _fields(value, java)
    return value


def _child(java: Callable[[], Any], index: int) -> Any:
    return java().children().apply(index)


def _element(java: Callable[[], Any], index: int) -> Any:
    return _opened(java().productElement(index))


def _item(java: Callable[[], Any], index: int) -> Any:
    return java().apply(index)


def _opened(value: Any) -> Any:
    """Return the value of an option in Java, None for an empty one, and any other value as it is."""
    if not hasattr(value, "getClass"):
        return value
    name = value.getClass().getName()
    return None if name == "scala.None$" else value.get() if name == "scala.Some" else value


def _simple(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$")[2] or name.rpartition(".")[2]
