"""`KnownKey`: keys inside the parameters of a streamlet, and their possible values, for completion in editors.

The rows that verification reads give them: the options of sinks, of triggerers and of codecs, and the columns of
schemas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that a key may have.

    Arguments:
        text: as it is written in a blueprint.
        detail: a few words next to it, such as a type.
        doc: its meaning.
    """

    text: str
    detail: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """A key that a configuration may have.

    Arguments:
        path: the keys that lead to it from the parameters of the streamlet. The last one may have dots, which a
            blueprint also writes as an object in an object.
        doc: its purpose.
        detail: a few words next to it, such as its type and its default.
        required: whether it must be set.
        values: the values that it may have, if these are known.
    """

    path: tuple[str, ...]
    doc: str = ""
    detail: str = ""
    required: bool = False
    values: tuple[KnownValue, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that lead to it, without dots."""
        return tuple(".".join(self.path).split("."))

    def below(self, path: tuple[str, ...]) -> str:
        """Return the key as it is written in the object at a path; empty if it does not belong there.

        Arguments:
            path: keys without dots.
        """
        around = len(".".join(self.path[:-1]).split(".")) if len(self.path) > 1 else 0
        inside = around <= len(path) < len(self.keys) and self.keys[: len(path)] == path
        return ".".join(self.keys[len(path) :]) if inside else ""


def type_and_default(type: str, default: object | None) -> str:
    """Return a type and a default as the detail of a key."""
    return type if default is None else f"{type}, default: {default}"


def column_values(columns: Mapping[str, str]) -> tuple[KnownValue, ...]:
    """Return the columns of a schema as values.

    Arguments:
        columns: the type of each column, by name.
    """
    return tuple(KnownValue(name, type) for name, type in columns.items())


def text_values(texts: Iterable[str]) -> tuple[KnownValue, ...]:
    """Return texts as values."""
    return tuple(map(KnownValue, texts))
