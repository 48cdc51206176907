"""Parsed and resolved configuration: values that carry every place that set them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.diagnostics import Span

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A value as plain data."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One place that set a value.

    Arguments:
        span: the place of the value; for an environment variable, of the substitution that refers to it.
        key: the place of its key, of the key's own segment in a path; None for list items and roots.
        via: the place of the substitution (`${...}`) that the value was taken from, None for a literal value.
    """

    span: Span
    key: Span | None = None
    via: Span | None = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, boolean or null.

    Arguments:
        value: the JSON value. Unquoted text that is not a number, boolean or null is a string.
        text: the value as written: numbers keep their spelling, strings have no quotes.
        quoted: whether it was written as a quoted string.
        origins: every place that set it, oldest first; the last is the effective one.
    """

    value: str | int | float | bool | None
    text: str
    quoted: bool
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list."""

    items: tuple[Value, ...]
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """An object. Its fields are in the order in which the keys first appear."""

    fields: Mapping[str, Value]
    origins: tuple[Origin, ...]

    def get(self, *path: str) -> Value | None:
        """Return the value at a path of keys, None when a key is missing or its parent is not an object."""
        value: Value = self
        for key in path:
            if not isinstance(value, ObjectValue) or key not in value.fields:
                return None
            value = value.fields[key]
        return value


type_names = {Scalar: "a plain value", ListValue: "a list", ObjectValue: "an object"}

Value = Scalar | ListValue | ObjectValue


def span_of(value: Value) -> Span:
    """Return the place of the effective value."""
    return value.origins[-1].span


def key_span_of(value: Value) -> Span:
    """Return the place of the key of the effective value, or of the value when it has no key."""
    origin = value.origins[-1]
    return origin.key or origin.span


def plain(value: Value) -> object:
    """Return the value as plain Python data (dict, list, str, int, float, bool, None)."""
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, ListValue):
        return [plain(item) for item in value.items]
    return {key: plain(item) for key, item in value.fields.items()}


def is_null(value: Value) -> bool:
    """Return whether a value is `null`, which discards what earlier layers have set."""
    return isinstance(value, Scalar) and value.value is None
