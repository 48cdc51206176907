"""The Python functions in a query's plan, by their code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from streamlets.spark.function_code import code_digest
from streamlets.spark.plan_json import PlanPart, expressions_in

_PYTHON = ("PythonUDF", "PythonUDAF", "PythonUDTF")


def code_digests(plan: PlanPart) -> dict[int, str]:
    """Return the digests of the Python functions in a plan, by the numbers of their calls.

    A function whose code cannot be read has none.
    """
    digests: dict[int, str] = {}
    for part in plan.all():
        fields = part.fields.values()
        expressions = (inner for value in fields for outer in expressions_in(value) for inner in outer.all())
        if any(expression.name in _PYTHON for expression in expressions):
            for call in _calls(part.node.expressions()):
                digest = _digest(call)
                if digest is not None:
                    digests[int(call.resultId().id())] = digest
    return digests


def _calls(expressions: Any) -> Iterator[Any]:
    """Yield the calls of Python functions in expressions of Java."""
    for index in range(expressions.size()):
        expression = expressions.apply(index)
        if expression.getClass().getSimpleName() in _PYTHON:
            yield expression
        yield from _calls(expression.children())


def _digest(call: Any) -> str | None:
    """Return the digest of the function that is called; None if it cannot be read."""
    from pyspark.serializers import CPickleSerializer

    try:
        command = cast(Any, CPickleSerializer()).loads(bytes(call.func().command().unsafeArray()))
        value = getattr(command, "value", command)  # a large function is a broadcast variable
        return code_digest(value[0] if isinstance(value, tuple) else value, named=_is_named(call))
    except Exception:  # noqa: BLE001 - unpickling runs code of the author
        return None


def _is_named(call: Any) -> bool:
    """Return whether a call has names for its arguments."""
    children = call.children()
    names = (children.apply(index).getClass().getSimpleName() for index in range(children.size()))
    return "NamedArgumentExpression" in names
