"""Findings about slips in configuration: misspelt keys, values of another type, dots that nest."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.diagnostics import Diagnostic, Fix, FixKind, Label, Span, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.spelling import alternatives, misspelling_of


def misspelt(value: Value, key: str, meant: str, where: str, known: Iterable[str]) -> Diagnostic:
    """`key` was written where `meant` was meant; `known` are the keys that it could be."""
    only = misspelling_of(key, known)
    return finding(
        "unknown-key",
        f"{where} has no key `{key}`",
        key_span_of(value),
        help=(f"did you mean `{meant}`?",),
        fix=renamed(FixKind.RENAME_KEY, value, key, meant) if only == meant else None,
    )


def renamed(kind: FixKind, value: Value, key: str, new: str) -> Fix | None:
    """The fix that renames a key wherever it is set; None when one of the places is quoted or comes from elsewhere."""
    places = [origin.key for origin in value.origins]
    if None in places:
        return None
    return rewrite(kind, *((place, key, new) for place in places if place is not None))


def unknown(value: Value, key: str, known: Iterable[str], where: str) -> Diagnostic:
    """`key` was written, and is near to nothing."""
    return finding(
        "unknown-key",
        f"{where} has no key `{key}`",
        key_span_of(value),
        help=(f"known keys are {alternatives(known)}",),
    )


def wrong_type(value: Value, what: str, wanted: str) -> Diagnostic:
    """`what` is of another type than `wanted`."""
    return finding(
        "wrong-type",
        f"{what} must be {wanted}",
        span_of(value),
        label=f"this is {_described(value)}",
        also=(Label(origin.via, "comes in here") for origin in value.origins[-1:] if origin.via),
    )


def dotted_span(block: Value, inner: Value) -> Span | None:
    """The place of `a.b` when the key of `inner` was written behind the key of `block` with a dot; None otherwise."""
    last = key_span_of(inner)
    for origin in reversed(block.origins):
        first = origin.key
        if first is None or first.file != last.file or first.end_line != last.line:
            continue
        if last.column == first.end_column + 1:
            return Span(first.file, first.line, first.column, last.end_line, last.end_column)
    return None


def _described(value: Value) -> str:
    match value:
        case ListValue():
            return "a list"
        case ObjectValue():
            return "an object"
        case Scalar(value=None):
            return "null"
        case Scalar(value=bool()):
            return "true or false"
        case Scalar(value=int() | float()):
            return "a number"
        case _:
            return "a text"
