"""A configuration text as written: what the parsers give and the resolver takes. Merged, but not yet substituted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from blueprint.diagnostics import Diagnostic, Span
from blueprint.hocon.values import Origin


@dataclass(slots=True, eq=False)
class ScalarNode:
    """A string, number, boolean or null that stands in the text."""

    value: str | int | float | bool | None
    text: str
    quoted: bool
    span: Span


@dataclass(slots=True, eq=False)
class ListNode:
    """A list that stands in the text."""

    items: list[Node]
    span: Span


@dataclass(slots=True, eq=False)
class Substitution:
    """`${path}` or `${?path}`.

    Arguments:
        path: as written.
        optional: whether it is `${?...}`.
        span: from `$` to `}`.
        roots: the paths under which it is looked up besides the root, nearest first: those at which the file
            that holds it, and the files that include that one, were included.
    """

    path: tuple[str, ...]
    optional: bool
    span: Span
    roots: tuple[tuple[str, ...], ...] = ()

    @property
    def text(self) -> str:
        """As one writes it."""
        return f"${{{'?' if self.optional else ''}{path_text(self.path)}}}"


@dataclass(slots=True, eq=False)
class Concatenation:
    """Values side by side; `gaps[i]` is the blank space in front of `parts[i]`."""

    parts: list[Node]
    gaps: list[str]
    span: Span


@dataclass(slots=True, eq=False)
class Append:
    """The right side of `+=`: one more item for the list that the key had before."""

    item: Node
    span: Span


@dataclass(slots=True, eq=False)
class Definition:
    """One setting of a key. Its identity is what self-reference is about: it never sees itself or what overrides it."""

    key: Span
    node: Node


@dataclass(slots=True, eq=False)
class ObjectNode:
    """An object: for each key its definitions, oldest first. Objects that stand next to each other are merged here."""

    fields: dict[str, list[Definition]] = field(default_factory=dict)
    origins: list[Origin] = field(default_factory=list)

    def add(self, key: str, definition: Definition) -> None:
        """Set `key` once more."""
        definitions = self.fields.get(key)
        if definitions is None:
            self.fields[key] = [definition]
            return
        last = definitions[-1].node
        if type(last) is ObjectNode and type(definition.node) is ObjectNode:
            last.merge(definition.node)
        else:
            definitions.append(definition)

    def merge(self, other: ObjectNode) -> None:
        """Set again all that `other` sets."""
        self.origins += other.origins
        for key, definitions in other.fields.items():
            for definition in definitions:
                self.add(key, definition)


Node = ScalarNode | ListNode | ObjectNode | Substitution | Concatenation | Append


@dataclass(frozen=True, slots=True)
class Layer:
    """One parsed text with all it includes.

    Arguments:
        file: as in `Span.file`.
        root: what it sets.
        diagnostics: what is wrong with the text; `root` holds what could be read all the same.
    """

    file: str
    root: ObjectNode
    diagnostics: tuple[Diagnostic, ...] = ()


_PLAIN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def path_text(path: tuple[str, ...]) -> str:
    """A path as one writes it in HOCON: keys that need it stand in quotes."""
    return ".".join(_key_texts(path))


def _key_texts(path: tuple[str, ...]) -> Iterator[str]:
    for key in path:
        yield key if key and _PLAIN_KEY.issuperset(key) else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
