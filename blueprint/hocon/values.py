"""What a configuration text means once parsed and resolved: values that remember every place that set them."""

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
        span: of the value's text; for a value of the environment, of the substitution that asked for it.
        key: of the key that was set: its own segment of a path; None for list items and roots.
        via: of the substitution (`${...}`) through which the value came here, None when it stands here itself.
    """

    span: Span
    key: Span | None = None
    via: Span | None = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, boolean or null.

    Arguments:
        value: as JSON has it; unquoted text that is no number, boolean or null is a string.
        text: as written (numbers keep their spelling, strings come without quotes).
        quoted: whether it was a quoted string.
        origins: every place that set it, oldest first; the last is in force.
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
    """An object; its fields keep the order in which the keys were first seen."""

    fields: Mapping[str, Value]
    origins: tuple[Origin, ...]

    def get(self, *path: str) -> Value | None:
        """The value at a path of keys, None when a step is missing or no object."""
        here: Value = self
        for key in path:
            if not isinstance(here, ObjectValue) or key not in here.fields:
                return None
            here = here.fields[key]
        return here


type_names = {Scalar: "a plain value", ListValue: "a list", ObjectValue: "an object"}

Value = Scalar | ListValue | ObjectValue


def span_of(value: Value) -> Span:
    """Where the value in force stands."""
    return value.origins[-1].span


def key_span_of(value: Value) -> Span:
    """Where the key of the value in force stands; the value's own place when it has no key."""
    origin = value.origins[-1]
    return origin.key or origin.span


def plain(value: Value) -> object:
    """The value as plain Python data (dict, list, str, int, float, bool, None)."""
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, ListValue):
        return [plain(item) for item in value.items]
    return {key: plain(item) for key, item in value.fields.items()}


def is_null(value: Value) -> bool:
    """Return whether a value is `null`, which discards what earlier layers have set."""
    return isinstance(value, Scalar) and value.value is None
