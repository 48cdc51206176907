"""The term of an expression whose columns are followed to their sources: equal for equal expressions.

It has no number of a column, no name of a lambda variable and no random seed of Spark's own, which differ from one
analysis to the next. Literals have quotes or their type, so that different expressions have different texts.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from streamlets.spark import terms
from streamlets.spark.plan_json import Expression, expressions_in
from streamlets.spark.terms import Term
from streamlets.spark.time_windows import seconds_text, time_window
from streamlets.spark.types_text import type_text

UNKNOWN_CODE = "{?}"
"""The suffix of the name of a function or an option whose content cannot be read."""

_COMPARISONS = {
    "EqualTo": "=", "EqualNullSafe": "<=>", "GreaterThan": ">", "LessThan": "<", "GreaterThanOrEqual": ">=",
    "LessThanOrEqual": "<=",
}  # fmt: skip
_ARITHMETIC = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "Remainder": "%", "BitwiseAnd": "&", "BitwiseOr": "|",
    "BitwiseXor": "^",
}  # fmt: skip
_TRANSPARENT = ("Alias", "PreciseTimestampConversion", "KnownNullable", "KnownNotNull", "ToPrettyString")
_MODES = ("evalMode", "evalContext")
_IGNORED = {
    *_MODES, "timeZoneId", "resultId", "exprId", "qualifier", "metadata", "explicitMetadata",
    "nonInheritableMetadataKeys", "mutableAggBufferOffset", "inputAggBufferOffset", "randomSeed", "hideSeed",
    "nullable", "replacement", "mode", "udfDeterministic", "evalType", "func", "queryContext", "origin",
}  # fmt: skip
_UNSTABLE = ("Rand", "Randn", "RandStr", "Uniform", "Uuid", "Shuffle", "MonotonicallyIncreasingID", "SparkPartitionID")
_FUNCTIONS = ("PythonUDF", "PythonUDAF", "PythonUDTF", "ScalaUDF")
_NOT_READABLE = ("Invoke", "StaticInvoke", "NewInstance")
"""Calls of methods in Java: what they do is not in the plan."""
_BATCHED, _KINDS = 100, {101: "with Arrow", 200: "of Series", 202: "of Series", 204: "of iterators"}
_LOCAL_TYPE = re.compile("string|date|timestamp")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ADDRESS = re.compile(r"@[0-9a-f]{4,}|\$\$Lambda")
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the meaning of expressions depends on beside the columns.

    Arguments:
        code: the digests of Python functions by the number of their call.
        zone: the time zone of the session, in which Python functions get timestamps.
        mask: returns a literal without secrets.
        tries: whether the plan has calculations whose result is null for an error; the JSON does not have it.
        subquery: returns the text of a plan inside of an expression, which is a node in Java.
    """

    code: Mapping[int, str]
    zone: str
    mask: Callable[[str], str]
    tries: bool
    subquery: Callable[[Any], str]


class ExpressionTerms:
    """Reads expressions.

    Arguments:
        columns: the terms of columns by number; columns of sources are `source.column`.
        around: what the expressions depend on beside the columns.
    """

    def __init__(self, columns: Mapping[int, Term], around: Surroundings) -> None:
        self._columns = columns
        self._around = around
        self._variables: dict[int, Term] = {}  # of functions in the expression
        self._shared: list[Term] = []  # the values that Spark computes once for several uses in an expression

    def __call__(self, expression: Expression) -> Term:
        """Return the term of an expression."""
        self._variables = {}
        return self._term(expression)

    def _term(self, expression: Expression) -> Term:
        name, fields = expression.name, expression.fields
        match name:
            case "AttributeReference" | "OuterReference":
                known = self._columns.get(-1 if expression.id is None else expression.id)
                return known or Term(str(fields.get("name", name)), type=_type(expression))
            case "Literal":
                return self._literal(expression)
            case "NamedLambdaVariable" | "UnresolvedNamedLambdaVariable":
                return self._variables.setdefault(expression.id or 0, Term(f"x{len(self._variables) + 1}"))
            case "CreateNamedStruct" if window := time_window(expression, self._term):
                return window
            case "CommonExpressionRef" if self._shared:
                return self._shared[-1]
            case "With" if len(expression.children) == 2:
                return self._with(*expression.children)
        if name in _FUNCTIONS:
            return self._function(expression)
        if name in ("ScalarSubquery", "LateralSubquery", "Exists", "ListQuery"):
            return Term(f"{name}({self._subquery(expression)})")
        if "replacement" in fields and _is_readable(expression):
            return self._term(expression.children[0])
        parts = [self._term(child) for child in expression.children]
        if name in _TRANSPARENT and len(parts) == 1:
            return parts[0]
        return self._operation(expression, parts) or self._call(expression, parts)

    def _operation(self, expression: Expression, parts: list[Term]) -> Term | None:
        """Return an expression whose normal form is not its call; None if it has no other one."""
        name, fields = expression.name, expression.fields
        trying = self._around.tries and _is_trying(expression)
        match name, parts:
            case (("And" | "Or"), _):
                return terms.junction(name.upper(), parts)
            case "Not", [inner]:
                return terms.negation(inner)
            case "If", _:
                return terms.case(parts)
            case "NullIfResult", [condition, value]:
                return terms.case([condition, terms.null(value.type or ""), value])
            case "CaseWhen", _:
                return terms.case(parts)
            case "ParseToDate", [inner]:
                inner = self._typed(inner, expression.children[0])
                return terms.cast(inner, "date", _zone(expression) if inner.type != "date" else "")
            case "Left", [text, length]:
                return terms.call("substring", [text, terms.number(1, "integer"), length])
            case "Coalesce", _:
                return terms.first_known(parts)
            case "Concat", [_, _, *_]:
                return terms.concatenation(parts)
            case "In", [value, *values] if values and "Query" not in expression.children[-1].name:
                return terms.among(value, values)
            case "GetStructField", [inner] if fields.get("name"):
                return Term(f"{inner.text}.{fields['name']}", stable=inner.stable)
            case "Cast", [inner]:
                type = type_text(fields.get("dataType"))
                inner = self._typed(inner, expression.children[0])
                return terms.cast(inner, type, _zone(expression, inner.type), trying=trying)
            case "AggregateExpression", [function, *condition]:
                return _aggregate(function, bool(fields.get("isDistinct")), condition)
            case "TimestampAddInterval", [start, interval]:
                return _later(expression, start, interval)
            case "Count", [Term(operator="literal")]:
                return terms.call("count", [terms.number(1, "integer")])
            case _, [left, right] if name in _COMPARISONS:
                return terms.comparison(_COMPARISONS[name], left, right)
            case _, [left, right] if name in _ARITHMETIC and not trying:
                return terms.arithmetic(_ARITHMETIC[name], left, right)
        return None

    def _with(self, result: Expression, value: Expression) -> Term:
        self._shared.append(self._term(value.children[0]))
        try:
            return self._term(result)
        finally:
            self._shared.pop()

    def _typed(self, term: Term, expression: Expression) -> Term:
        """Return a term with its type, which Spark knows if it is not in the plan."""
        if term.type is not None:
            return term
        try:
            kind = str(expression.java().dataType().typeName())
        except Exception:  # noqa: BLE001 - what Java raises depends on the expression
            return term
        return Term(term.text, term.operator, term.parts, kind, term.number, term.stable)

    def _call(self, expression: Expression, parts: list[Term]) -> Term:
        """Return an expression as a call of its class; a field without a child is named."""
        name = expression.name
        fields = {key: value for key, value in expression.fields.items() if key not in _IGNORED}
        if "replacement" in expression.fields:  # what Spark makes of it is not in the plan
            own = [self._term(inner) for value in fields.values() for inner in expressions_in(value)]
            parts = own or parts
        more = []
        child = 0  # the number of the next child
        for key, value in fields.items():
            numbers = value if isinstance(value, list) else [value]
            if numbers and _are_children(numbers, child, expression.children):
                child += len(numbers)
            elif value is None:
                more.append(self._hidden(expression, key))
            elif value != [] and not any(True for _ in expressions_in(value)):
                more.append(f"{key}={self._field(value)}")
        if name in ("Rand", "Randn") and expression.fields.get("hideSeed"):
            parts = []
        called = _WORDS.sub("_", name).lower()
        if self._around.tries and _is_trying(expression):
            called = f"try_{called}"
        return terms.call(called, parts, *more, _zone(expression), stable=name not in _UNSTABLE)

    def _hidden(self, expression: Expression, key: str) -> str:
        """Return a field that the JSON does not have, as an argument; "" if it is not set."""
        try:
            value = expression.hidden(key)
            text = "" if value is None else str(value if not hasattr(value, "toString") else value.toString())
        except Exception:  # noqa: BLE001 - what Java raises depends on the class
            return f"{key}{UNKNOWN_CODE}"
        if _ADDRESS.search(text):
            return f"{key}{UNKNOWN_CODE}"
        return f"{key}={self._around.mask(text)}" if text else ""

    def _subquery(self, expression: Expression) -> str:
        """Return the plan inside of an expression, and what it is compared with in the plan."""
        try:
            plan = self._around.subquery(expression.java().plan())
        except Exception:  # noqa: BLE001 - what Java raises depends on the plan
            plan = f"plan{UNKNOWN_CODE}"
        return ", ".join([plan, *(self._term(child).text for child in expression.children)])

    def _field(self, value: Any) -> str:
        if isinstance(value, dict) and "object" in value:
            return str(value["object"]).rstrip("$").rpartition(".")[2].rpartition("$")[2]
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        return self._around.mask(_ADDRESS.sub(UNKNOWN_CODE, text))

    def _function(self, expression: Expression) -> Term:
        fields = expression.fields
        name = fields.get("name") or fields.get("udfName") or "function"
        number = fields.get("resultId")
        code = self._around.code.get(int(number["id"])) if isinstance(number, dict) else None
        arguments = [self._term(child) for child in expression.children]
        returned = type_text(fields.get("dataType"))
        inner = [argument.text for argument in arguments]
        if any(kind is None or "timestamp" in kind for kind in (returned, *map(_type, expression.children))):
            # Functions of pandas get times of the session, and others get times of the machine.
            inner += dict.fromkeys([self._around.zone, "/".join(dict.fromkeys(time.tzname))])
        kind = fields.get("evalType", _BATCHED)
        suffix = "" if kind == _BATCHED or not isinstance(kind, int) else f" {_KINDS.get(kind, f'of kind {kind}')}"
        text = f"{name}{'{' + code + '}' if code else UNKNOWN_CODE}({', '.join(inner)}) of {returned}{suffix}"
        stable = fields.get("udfDeterministic") is not False and all(argument.stable for argument in arguments)
        return Term(text, type=returned, stable=stable)

    def _literal(self, expression: Expression) -> Term:
        value, type = expression.fields.get("value"), type_text(expression.fields.get("dataType"))
        if value is None:
            return terms.null(type)
        if type == "timestamp":  # JSON has it in the time zone of the session
            instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(expression.java().value()))
            return terms.literal(instant.isoformat(), type, self._around.mask)
        if type == "binary":
            return terms.literal(bytes(expression.java().value()).hex(), type, self._around.mask)
        if _ADDRESS.search(str(value)) and type != "string":
            return Term(f"literal{UNKNOWN_CODE}")
        return terms.literal(str(value), type, self._around.mask)


def _are_children(numbers: Sequence[object], first: int, children: Sequence[Expression]) -> bool:
    """Return whether numbers refer to the next children: the JSON has the first of equal ones instead of each."""
    return first + len(numbers) <= len(children) and all(
        number == place or (type(number) is int and 0 <= number < place and _same(children[number], children[place]))
        for place, number in enumerate(numbers, first)
    )


def _same(one: Expression, other: Expression) -> bool:
    """Return whether two expressions have the same fields."""
    return (
        one.name == other.name
        and all(
            other.fields.get(key) == value
            for key, value in one.fields.items()
            if not any(True for _ in expressions_in(value))
        )
        and len(one.children) == len(other.children)
        and all(map(_same, one.children, other.children))
    )


def _is_readable(expression: Expression) -> bool:
    """Return whether the plan has what Spark computes instead of an expression."""
    inner = [part for child in expression.children for part in child.all()]
    return len(expression.children) == 1 and not any(
        part.name in _NOT_READABLE or (part.name == "With" and len(part.children) != 2) for part in inner
    )


def _is_trying(expression: Expression) -> bool:
    """Return whether the result of an expression is null for an error, which the JSON does not have."""
    for key in _MODES:
        if key in expression.fields:
            mode = expression.hidden(key)
            return "TRY" in str(mode.toString() if hasattr(mode, "toString") else mode)
    return False


def _later(expression: Expression, start: Term, interval: Term) -> Term | None:
    """Return a time with an interval added, for which only the length of the interval counts."""
    inner = expression.children[1]
    if inner.name != "Literal" or not interval.text.startswith("interval "):
        return None
    length = str(inner.fields.get("value"))
    if not length.lstrip("-").isdigit() or length not in interval.text:  # another kind of interval, or a secret
        return None
    zone = _zone(expression) if abs(int(length)) >= _DAY else ""
    seconds = Term(f"interval '{seconds_text(int(length))}'")
    return terms.call("timestamp_add_interval", [start, seconds], zone, type=start.type)


def _zone(expression: Expression, before: str | None = None) -> str:
    """Return the time zone that the result of an expression depends on; "" for none."""
    inner = list(expression.all()) if "replacement" in expression.fields else [expression]
    zones = {str(part.fields["timeZoneId"]) for part in inner
             if part.fields.get("timeZoneId") and _is_local(part, before if part is expression else None)}  # fmt: skip
    return " ".join(sorted(zones))


def _is_local(part: Expression, before: str | None) -> bool:
    """Return whether a part with a time zone depends on it: most casts do not."""
    if part.name != "Cast":
        return True
    kinds = before or _type(part.children[0]), type_text(part.fields.get("dataType"))
    return kinds[0] != kinds[1] and all(kind is None or _LOCAL_TYPE.search(kind) for kind in kinds)


def _type(expression: Expression) -> str | None:
    """Return the type of an expression; None if it is not in the plan."""
    kind = expression.fields.get("dataType")
    return None if kind is None else type_text(kind)


def _aggregate(function: Term, distinct: bool, condition: Sequence[Term]) -> Term:
    name, bracket, rest = function.text.partition("(")
    text = f"{name}{bracket}{'DISTINCT ' if distinct else ''}{rest}"
    return Term(f"{text} FILTER (WHERE {condition[0].text})" if condition else text)
