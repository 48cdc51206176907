"""Expressions in a normal form: equal texts for expressions that are equal to Spark, however written.

Only what holds for all values is used, null and NaN among them. The operands of a sum are ordered but not regrouped,
because sums of doubles depend on the grouping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

Number = int | float | Decimal

_INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>"}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_OPPOSITE = {"AND": "OR", "OR": "AND", "is_null": "is_not_null", "is_not_null": "is_null"}
_EXCHANGEABLE = ("+", "*", "&", "|", "^")
_PLAIN_LITERALS = ("integer", "double", "boolean")


@dataclass(frozen=True, slots=True)
class Term:
    """An expression.

    Arguments:
        text: its text, by which it is compared.
        operator: its operator, if it has one that is rewritten; `literal` for literals.
        parts: its operands, in their order.
        type: its type in Spark, None if it is not known.
        number: its value if it is a number that is not a secret.
        stable: whether it has the same value whenever it is evaluated on a row.
    """

    text: str
    operator: str = ""
    parts: tuple[Term, ...] = ()
    type: str | None = None
    number: Number | None = None
    stable: bool = True


def literal(text: str, type: str, mask: Callable[[str], str]) -> Term:
    """Return a literal.

    Arguments:
        text: its value.
        type: its type.
        mask: returns a text without secrets.
    """
    masked = mask(text)
    if type == "string":
        return Term("'" + masked.replace("'", "''") + "'", "literal", type=type)
    value = _number(text, type) if masked == text else None
    if isinstance(value, float):
        masked = repr(value)  # Java writes some of them differently
    shown = masked if type in _PLAIN_LITERALS else f"{type} '{masked}'"
    return Term(shown, "literal", type=type, number=value)


def null(type: str) -> Term:
    """Return the literal null."""
    return Term(f"null:{type}", "null", type=type)


def call(name: str, arguments: Sequence[Term], *more: str, type: str | None = None, stable: bool = True) -> Term:
    """Return the call of a function.

    Arguments:
        name: its name.
        arguments: its arguments.
        more: what it depends on beside them, as texts.
        type: the type of its result.
        stable: whether the function has the same result for the same arguments.
    """
    inner = [argument.text for argument in arguments] + list(filter(None, more))
    operator = name if not any(more) and len(arguments) == 1 else ""
    return _of(f"{name}({', '.join(inner)})", operator, arguments, type, stable=stable)


def junction(operator: str, parts: Iterable[Term]) -> Term:
    """Return the conjunction (`AND`) or disjunction (`OR`) of conditions, in the order of their texts."""
    flat = [inner for part in parts for inner in (part.parts if part.operator == operator else (part,))]
    if all(part.stable for part in flat):
        flat.sort(key=_order)
    if len(flat) == 1:
        return flat[0]
    return _of(f"({f' {operator} '.join(part.text for part in flat)})", operator, flat, "boolean")


def negation(term: Term) -> Term:
    """Return the negation of a condition, moved to the innermost conditions."""
    if term.operator == "NOT":
        return term.parts[0]
    if term.operator in _NEGATED:
        return comparison(_NEGATED[term.operator], *term.parts)
    if term.operator in ("AND", "OR"):
        return junction(_OPPOSITE[term.operator], map(negation, term.parts))
    if term.operator in _OPPOSITE:
        return call(_OPPOSITE[term.operator], term.parts, type="boolean")
    return _of(f"NOT {term.text}", "NOT", (term,), "boolean")


def comparison(operator: str, left: Term, right: Term) -> Term:
    """Return a comparison, with a literal on the right, and otherwise in the order of the texts."""
    if _order(right) < _order(left):
        left, right, operator = right, left, _MIRRORED[operator]
    return _of(f"({left.text} {operator} {right.text})", operator, (left, right), "boolean")


def among(term: Term, values: Sequence[Term]) -> Term:
    """Return whether an expression has one of some values."""
    if not term.stable:
        return call("in", (term, *values), type="boolean")
    unique = {value.text: value for value in values}
    return junction("OR", (comparison("=", term, value) for value in unique.values()))


def case(parts: Sequence[Term]) -> Term:
    """Return a `CASE`: conditions and results in turn, and the result for no condition, if there is one."""
    branches, other = list(parts), None
    if len(branches) % 2:
        other = branches.pop()
    if other is not None and other.operator == "CASE":
        return case([*branches, *other.parts])
    if other is not None and other.operator != "null":
        if len(branches) == 2 and (chosen := _known(branches[0], branches[1], other)) is not None:
            return chosen
        branches.append(other)
    pairs = zip(branches[::2], branches[1::2], strict=False)  # the last one may be alone
    whens = "".join(f" WHEN {condition.text} THEN {result.text}" for condition, result in pairs)
    otherwise = f" ELSE {other.text}" if len(branches) % 2 and other is not None else ""
    types = {part.type for part in [*parts[1::2], *([other] if other else [])] if part.operator != "null"}
    return _of(f"CASE{whens}{otherwise} END", "CASE", branches, types.pop() if len(types) == 1 else None)


def first_known(parts: Iterable[Term]) -> Term:
    """Return `coalesce` of some expressions."""
    nested = [inner for part in parts for inner in (part.parts if part.operator == "coalesce" else (part,))]
    flat = [part for part in nested if part.operator != "null"] or nested[:1]
    types = {part.type for part in flat}
    if len(flat) == 1:
        return flat[0]
    return _of(f"coalesce({', '.join(part.text for part in flat)})", "coalesce", flat,
               types.pop() if len(types) == 1 else None)  # fmt: skip


def concatenation(parts: Iterable[Term]) -> Term:
    """Return `concat` of some expressions."""
    flat = [inner for part in parts for inner in (part.parts if part.operator == "concat" else (part,))]
    return _of(f"concat({', '.join(part.text for part in flat)})", "concat", flat, None)


def arithmetic(operator: str, left: Term, right: Term) -> Term:
    """Return a calculation; one with numbers only is its result."""
    type = left.type if left.type == right.type and left.type in (*_INTEGERS, "double") else None
    result = _calculated(operator, left, right, type)
    if result is not None and type is not None:
        return number(result, type)
    if operator in _EXCHANGEABLE and left.stable and right.stable and _order(right) < _order(left):
        left, right = right, left
    return _of(f"({left.text} {operator} {right.text})", operator, (left, right), "double" if operator == "/" and
               type == "double" else None if operator == "/" else type)  # fmt: skip


def cast(term: Term, type: str, zone: str = "", *, trying: bool = False) -> Term:
    """Return an expression as another type; a number is converted, and a cast to its own type is omitted.

    Arguments:
        term: the expression.
        type: the type in Spark.
        zone: the time zone that the result depends on.
        trying: whether the result is null for what cannot be converted.
    """
    if term.type == type:
        return term
    if term.operator == "null":
        return null(type)
    converted = _converted(term, type)
    if converted is not None:
        return number(converted, type)
    name = "try_cast" if trying else "cast"
    return _of(f"{name}({term.text} as {type}{f', {zone}' if zone else ''})", "", (term,), type)


def number(value: Number, type: str) -> Term:
    """Return a number as a literal."""
    return literal(str(value), type, str)


def joined(terms: Iterable[Term]) -> str:
    """Return the texts of some expressions, with commas."""
    return ", ".join(term.text for term in terms)


def renamed(term: Term, text: str) -> Term:
    """Return an expression with another text, which nothing is known about."""
    return replace(term, text=text, operator="", parts=(), number=None)


def _known(condition: Term, result: Term, other: Term) -> Term | None:
    """Return a choice between an expression and what stands for null as `coalesce`; None for another choice."""
    match condition:
        case Term(operator="is_null", parts=(tested,)) if tested.stable and tested.text == other.text:
            return first_known([other, result])
        case Term(operator="is_not_null", parts=(tested,)) if tested.stable and tested.text == result.text:
            return first_known([result, other])
    return None


def _of(text: str, operator: str, parts: Sequence[Term], type: str | None, *, stable: bool = True) -> Term:
    return Term(text, operator, tuple(parts), type, None, stable and all(part.stable for part in parts))


def _order(term: Term) -> tuple[bool, str]:
    return term.operator in ("literal", "null"), term.text


def _number(text: str, type: str) -> Number | None:
    try:
        if type in _INTEGERS:
            return int(text)
        return float(text) if type == "double" else Decimal(text) if type.startswith("decimal") else None
    except (ValueError, InvalidOperation):
        return None


def _calculated(operator: str, left: Term, right: Term, type: str | None) -> Number | None:
    """Return the result of a calculation with numbers, None if it is not exactly Spark's result."""
    one, other = left.number, right.number
    if type is None or one is None or other is None or isinstance(one, Decimal) or isinstance(other, Decimal):
        return None
    match operator:
        case "+":
            result = one + other
        case "-":
            result = one - other
        case "*":
            result = one * other
        case "/" if type == "double" and other != 0:
            result = one / other
        case _:
            return None
    return result if _fits(result, type) else None


def _converted(term: Term, type: str) -> Number | None:
    """Return a number as another type of numbers, None if it is not one, or is not exactly Spark's number."""
    value = term.number
    if value is None or isinstance(value, float):
        return None
    if type == "double" and (isinstance(value, Decimal) or abs(value) < 2**53):
        return float(value)
    return value if type in _INTEGERS and isinstance(value, int) and _fits(value, type) else None


def _fits(value: Number, type: str) -> bool:
    if type == "double":
        return isinstance(value, float) and abs(value) < float("inf")
    return isinstance(value, int) and -(2 ** (_INTEGERS[type] - 1)) <= value < 2 ** (_INTEGERS[type] - 1)
