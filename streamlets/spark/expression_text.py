"""The text of an expression whose columns are followed to their sources: equal for equal expressions.

It has no number of a column, no name of a lambda variable and no random seed, which differ from one analysis to the
next. Literals have quotes or their type, so that different expressions have different texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from streamlets.spark.plan_json import Expression, expressions_in

UNKNOWN_CODE = "{?}"
"""The suffix of the name of a function whose code cannot be read."""

_INFIX = {
    "And": "AND", "Or": "OR", "EqualTo": "=", "EqualNullSafe": "<=>", "GreaterThan": ">", "LessThan": "<",
    "GreaterThanOrEqual": ">=", "LessThanOrEqual": "<=", "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/",
    "Remainder": "%", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^",
}  # fmt: skip
_TRANSPARENT = ("Alias", "PreciseTimestampConversion", "KnownNullable", "KnownNotNull", "ToPrettyString")
_PLAIN_LITERALS = ("integer", "double", "boolean")
_IGNORED = {
    "evalMode", "evalContext", "timeZoneId", "resultId", "exprId", "qualifier", "metadata", "explicitMetadata",
    "nonInheritableMetadataKeys", "mutableAggBufferOffset", "inputAggBufferOffset", "randomSeed", "hideSeed",
    "nullable", "replacement", "mode", "udfDeterministic", "evalType", "func", "queryContext", "origin",
}  # fmt: skip
_ROWS = ("LocalRelation", "LogicalRDD")
_LOCAL_TYPE = re.compile("string|date|timestamp")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ADDRESS = re.compile(r"@[0-9a-f]{4,}")


class ExpressionText:
    """Writes expressions.

    Arguments:
        columns: the texts of columns by number; columns of sources are `source.column`.
        code: the digests of Python functions by the number of their call.
        zone: the time zone of the session, in which Python functions get timestamps.
        mask: returns a literal without secrets.
    """

    def __init__(
        self, columns: Mapping[int, str], code: Mapping[int, str], zone: str, mask: Callable[[str], str]
    ) -> None:
        self._columns = columns
        self._code = code
        self._zone = zone
        self._mask = mask

    def __call__(self, expression: Expression) -> str:
        """Return the text of an expression."""
        return self._text(expression, {})

    def _text(self, expression: Expression, variables: dict[int, str]) -> str:
        name, fields = expression.name, expression.fields
        match name:
            case "AttributeReference" | "OuterReference":
                return self._columns.get(-1 if expression.id is None else expression.id) or str(
                    fields.get("name", name)
                )
            case "Literal":
                return self._literal(fields.get("value"), fields.get("dataType"))
            case "NamedLambdaVariable" | "UnresolvedNamedLambdaVariable":
                return variables.setdefault(expression.id or 0, f"x{len(variables) + 1}")
            case "CreateNamedStruct" if window := self._window(expression, variables):
                return window
        if name in ("PythonUDF", "PythonUDAF", "PythonUDTF", "ScalaUDF"):
            return self._function(expression, variables)
        parts = [self._text(child, variables) for child in expression.children]
        if name in _TRANSPARENT and len(parts) == 1:
            return parts[0]
        if name.endswith("Subquery") or name in ("Exists", "ListQuery"):
            return f"{name}({self._subplan(expression.fields.get('plan'), variables)})"
        match name, parts:
            case "Not", [inner]:
                return f"NOT {inner}"
            case "GetStructField", [inner] if fields.get("name"):
                return f"{inner}.{fields['name']}"
            case "Cast", [inner] if _type(expression.children[0]) == type_text(fields.get("dataType")):
                return inner
            case "Cast", [inner]:
                return f"cast({inner} as {type_text(fields.get('dataType'))}{_zone(expression)})"
            case "CaseWhen", _:
                return _case(parts)
            case "AggregateExpression", [function, *condition]:
                return _aggregate(function, bool(fields.get("isDistinct")), condition)
            case (("Rand" | "Randn"), _) if fields.get("hideSeed"):
                return f"{name.lower()}()"
            case _, [left, right] if name in _INFIX:
                return f"({left} {_INFIX[name]} {right})"
        return self._call(expression, parts, variables)

    def _call(self, expression: Expression, parts: list[str], variables: dict[int, str]) -> str:
        """Return an expression as a call of its class; a field without a child is named."""
        fields = {key: value for key, value in expression.fields.items() if key not in _IGNORED}
        if "replacement" in expression.fields:  # what Spark makes of it is not what the author has written
            own = [self._text(inner, variables) for value in fields.values() for inner in expressions_in(value)]
            parts = own or parts
        child = 0  # the number of the next child
        for key, value in fields.items():
            numbers = value if isinstance(value, list) else [value]
            if numbers and numbers == list(range(child, child + len(numbers))) and child < len(expression.children):
                child += len(numbers)
            elif value is not None and value != [] and not any(True for _ in expressions_in(value)):
                parts.append(f"{key}={self._field(value)}")
        return f"{_WORDS.sub('_', expression.name).lower()}({', '.join(parts)}{_zone(expression)})"

    def _subplan(self, plan: Any, variables: dict[int, str]) -> str:
        """Return a plan inside of an expression; its tables have no more than their columns."""
        if not isinstance(plan, Expression):
            return f"plan{UNKNOWN_CODE}"
        own = [self._text(inner, variables) for value in plan.fields.values() for inner in expressions_in(value)]
        below = [self._subplan(child, variables) for child in plan.children]
        unread = UNKNOWN_CODE if plan.name in _ROWS else ""
        return f"{plan.name}{unread}({', '.join([*own, *below])})"

    def _field(self, value: Any) -> str:
        if isinstance(value, dict) and "object" in value:
            return str(value["object"]).rstrip("$").rpartition(".")[2].rpartition("$")[2]
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        return self._mask(_ADDRESS.sub("", text))

    def _function(self, expression: Expression, variables: dict[int, str]) -> str:
        name = expression.fields.get("name") or expression.fields.get("udfName") or "function"
        number = expression.fields.get("resultId")
        code = self._code.get(int(number["id"])) if isinstance(number, dict) else None
        inner = ", ".join(self._text(child, variables) for child in expression.children)
        if any(kind is None or "timestamp" in kind for kind in map(_type, expression.children)):
            inner += f", {self._zone}"
        returned = type_text(expression.fields.get("dataType"))
        return f"{name}{'{' + code + '}' if code else UNKNOWN_CODE}({inner}) of {returned}"

    def _window(self, expression: Expression, variables: dict[int, str]) -> str:
        """Return a time window in short; "" if the structure is not one that Spark makes of `window`."""
        inner = list(expression.all())
        ends = [part for part in inner if part.name == "Literal" and part.fields.get("value") in ("start", "end")]
        if [end.fields.get("value") for end in ends] != ["start", "end"]:
            return ""
        gaps = [part for part in inner if part.name == "TimestampAddInterval"]
        if gaps:
            time, gap = (self._text(child, variables) for child in gaps[0].children)
            return f"session_window({time}, {gap})" if len(gaps) == 1 else ""
        literals = (part.fields.get("value") for part in inner if part.name == "Literal" and part not in ends)
        numbers = list(dict.fromkeys(int(value) for value in map(str, literals) if value.lstrip("-").isdigit()))
        times = {self._text(part.children[0], variables) for part in inner if _is_time(part)}
        if len(times) != 1 or len(numbers) < 2 or not any(part.name == "Remainder" for part in inner):
            return ""
        start, slide, *others = numbers
        length = others[-1] if others and others[-1] else slide
        return f"window({times.pop()}, {_seconds(length)} every {_seconds(slide)} from {_seconds(start)})"

    def _literal(self, value: Any, type: Any) -> str:
        if value is None:
            return f"null:{type_text(type)}"
        text = self._mask(str(value))
        if type == "string":
            return "'" + text.replace("'", "''") + "'"
        return text if type in _PLAIN_LITERALS else f"{type_text(type)} '{_ADDRESS.sub('', text)}'"


def _is_time(part: Expression) -> bool:
    """Return whether a part is the conversion of the time of a record to a number."""
    return part.name == "PreciseTimestampConversion" and part.fields.get("fromType") != "long"


def _seconds(microseconds: int) -> str:
    return f"{microseconds / 1_000_000:g} s"


def _zone(expression: Expression) -> str:
    """Return the time zone that the result of an expression depends on, as its last argument; "" for none."""
    inner = list(expression.all()) if "replacement" in expression.fields else [expression]
    zones = {str(part.fields["timeZoneId"]) for part in inner if part.fields.get("timeZoneId") and _is_local(part)}
    return f", {' '.join(sorted(zones))}" if zones else ""


def _is_local(part: Expression) -> bool:
    """Return whether a part with a time zone depends on it: most casts do not."""
    if part.name != "Cast":
        return True
    before, after = _type(part.children[0]), type_text(part.fields.get("dataType"))
    return before != after and all(kind is None or _LOCAL_TYPE.search(kind) for kind in (before, after))


def _type(expression: Expression) -> str | None:
    """Return the type of an expression; None if it is not in the plan."""
    kind = expression.fields.get("dataType")
    return None if kind is None else type_text(kind)


def _case(parts: list[str]) -> str:
    whens = "".join(f" WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2))
    return f"CASE{whens}{f' ELSE {parts[-1]}' if len(parts) % 2 else ''} END"


def _aggregate(function: str, distinct: bool, condition: list[str]) -> str:
    name, bracket, rest = function.partition("(")
    text = f"{name}{bracket}{'DISTINCT ' if distinct else ''}{rest}"
    return f"{text} FILTER (WHERE {condition[0]})" if condition else text


def type_text(type: Any) -> str:
    """Return a Spark type, as JSON has it, in short."""
    match type:
        case str():
            return type
        case {"type": "struct", "fields": fields}:
            return "struct<" + ", ".join(f"{field['name']}: {type_text(field['type'])}" for field in fields) + ">"
        case {"type": "array", "elementType": inner}:
            return f"array<{type_text(inner)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{type_text(key)}, {type_text(value)}>"
    return json.dumps(type, sort_keys=True)
