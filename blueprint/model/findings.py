"""Findings about keys and values of a configuration: misspelt keys, values of the wrong type, unquoted dots."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.diagnostics import Diagnostic, Fix, FixKind, Label, Span, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.spelling import listing, misspelling_of


def misspelt_key(value: Value, key: str, meant: str, where: str, known: Iterable[str]) -> Diagnostic:
    """Return the finding for a key that is probably a misspelling.

    Arguments:
        value: of the key.
        key: as written.
        meant: the key that was probably meant.
        where: the part of the blueprint that has the key, as the subject of a sentence.
        known: the keys that are valid there.
    """
    only = misspelling_of(key, known)
    return finding(
        "unknown-key",
        f"{where} has no key `{key}`",
        key_span_of(value),
        help=(f"did you mean `{meant}`?",),
        fix=rename_key(FixKind.RENAME_KEY, value, key, meant) if only == meant else None,
    )


def rename_key(kind: FixKind, value: Value, key: str, new: str) -> Fix | None:
    """Return the fix that renames a key wherever it is set; None when a place is quoted or comes from elsewhere."""
    places = [origin.key for origin in value.origins]
    if None in places:
        return None
    return rewrite(kind, *((place, key, new) for place in places if place is not None))


def unknown_key(value: Value, key: str, known: Iterable[str], where: str) -> Diagnostic:
    """Return the finding for a key that is not close to a known one; for the arguments see `misspelt_key`."""
    return finding(
        "unknown-key",
        f"{where} has no key `{key}`",
        key_span_of(value),
        help=(f"known keys are {listing(known)}",),
    )


def wrong_type(value: Value, subject: str, expected: str) -> Diagnostic:
    """Return the finding for a value of the wrong type: `subject` must be `expected`."""
    return finding(
        "wrong-type",
        f"{subject} must be {expected}",
        span_of(value),
        label=f"this is {_described(value)}",
        also=(Label(origin.via, "substituted here") for origin in value.origins[-1:] if origin.via),
    )


def dotted_span(block: Value, inner: Value) -> Span | None:
    """Return the span of `a.b` when the key of `inner` directly follows the key of `block` and a dot, else None."""
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
            return "a boolean"
        case Scalar(value=int() | float()):
            return "a number"
        case _:
            return "a string"
