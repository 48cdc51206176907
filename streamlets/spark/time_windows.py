"""The time windows in expressions: Spark makes structures with arithmetic of `window` and `session_window`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from streamlets.spark.plan_json import Expression
from streamlets.spark.terms import Term


def time_window(expression: Expression, term: Callable[[Expression], Term]) -> Term | None:
    """Return a time window in short; None if the structure is not one that Spark makes of `window`.

    Arguments:
        expression: the structure.
        term: returns the term of an expression in it.
    """
    inner = list(expression.all())
    ends = [part for part in inner if part.name == "Literal" and part.fields.get("value") in ("start", "end")]
    if [end.fields.get("value") for end in ends] != ["start", "end"]:
        return None
    gaps = [part for part in inner if part.name == "TimestampAddInterval"]
    if gaps:
        time, gap = gaps[0].children
        return Term(f"session_window({term(time).text}, {_gap(gap, term(gap))})") if len(gaps) == 1 else None
    literals = (part.fields.get("value") for part in inner if part.name == "Literal" and part not in ends)
    numbers = list(dict.fromkeys(int(value) for value in map(str, literals) if value.lstrip("-").isdigit()))
    times = {term(part.children[0]).text for part in inner if _is_time(part)}
    if len(times) != 1 or len(numbers) < 2 or not any(part.name == "Remainder" for part in inner):
        return None
    start, slide, *others = numbers
    length = others[-1] if others and others[-1] else slide
    return Term(f"window({times.pop()}, {seconds_text(length)} every {seconds_text(slide)} from {seconds_text(start)})")


def _gap(gap: Expression, term: Term) -> str:
    """Return a gap in the words of Spark, if it is written as a text that is not a secret."""
    literal = gap.children[0] if gap.name == "Cast" else gap
    if literal.name != "Literal" or literal.fields.get("dataType") != "string":
        return term.text
    value = str(literal.fields.get("value"))
    return str(gap.java().eval(None).toString()) if gap is not literal and f"'{value}'" in term.text else term.text


def _is_time(part: Expression) -> bool:
    """Return whether a part is the conversion of the time of a record to a number."""
    return part.name == "PreciseTimestampConversion" and part.fields.get("fromType") != "long"


def seconds_text(microseconds: int) -> str:
    """Return a duration in seconds, with all its digits."""
    return f"{Decimal(microseconds).scaleb(-6).normalize():f} s"
