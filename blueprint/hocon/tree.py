"""The tree of a configuration text, between parsers and resolver: objects are merged, substitutions unresolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from blueprint.diagnostics import Diagnostic, Span
from blueprint.hocon.values import ObjectValue, Origin


@dataclass(slots=True, eq=False)
class ScalarNode:
    """A literal string, number, boolean or null."""

    value: str | int | float | bool | None
    text: str
    quoted: bool
    span: Span


@dataclass(slots=True, eq=False)
class ListNode:
    """A literal list."""

    items: list[Node]
    span: Span


@dataclass(slots=True, eq=False)
class Substitution:
    """`${path}` or `${?path}`.

    Arguments:
        path: the keys as written.
        optional: whether it is `${?...}`.
        span: the place from `$` to `}`.
        roots: the paths under which it is looked up besides the root, nearest first: the paths at which its file, and
            the files that include that file, were included.
    """

    path: tuple[str, ...]
    optional: bool
    span: Span
    roots: tuple[tuple[str, ...], ...] = ()

    @property
    def text(self) -> str:
        """Return it as written."""
        return f"${{{'?' if self.optional else ''}{path_text(self.path)}}}"


@dataclass(slots=True, eq=False)
class Concatenation:
    """Adjacent values; `gaps[i]` is the white space before `parts[i]`."""

    parts: list[Node]
    gaps: list[str]
    span: Span


@dataclass(slots=True, eq=False)
class Append:
    """The right side of `+=`: an item appended to the earlier list of the key."""

    item: Node
    span: Span


@dataclass(slots=True, eq=False)
class Definition:
    """One assignment to a key. Its substitutions see neither itself nor what overrides it. Compared by identity."""

    key: Span
    node: Node


@dataclass(slots=True, eq=False)
class ObjectNode:
    """An object: for each key its definitions, oldest first. Consecutive objects of a key are merged into one.

    Arguments:
        fields: the definitions by key.
        origins: the places that define it.
        shared: whether trees of later versions of the text may have it, too, so that its definitions must not change.
        reused: whether it is from the tree of an earlier version, so that nothing of it may change.
        resolved: the value of a shared object, once it is known.
    """

    fields: dict[str, list[Definition]] = field(default_factory=dict)
    origins: list[Origin] = field(default_factory=list)
    shared: bool = False
    reused: bool = False
    resolved: ObjectValue | None = None

    def add(self, key: str, definition: Definition) -> None:
        """Add a definition of `key` that overrides the earlier ones."""
        definitions = self.fields.get(key)
        if definitions is None:
            self.fields[key] = [definition]
            return
        last = definitions[-1].node
        if type(last) is ObjectNode and type(definition.node) is ObjectNode:
            if last.shared:
                last = last.copy()
                definitions[-1] = Definition(definitions[-1].key, last)
            last.merge(definition.node)
        else:
            definitions.append(definition)

    def merge(self, other: ObjectNode) -> None:
        """Add all definitions of `other`."""
        self.origins += other.origins
        for key, definitions in other.fields.items():
            for definition in definitions:
                self.add(key, definition)

    def copy(self) -> ObjectNode:
        """Return an object with the same definitions that can be changed."""
        return ObjectNode({key: list(definitions) for key, definitions in self.fields.items()}, list(self.origins))

    def with_key(self, key: Span) -> ObjectNode:
        """Return the object as the value of a key, whose place is in all its origins."""
        origins = [Origin(origin.span, key) for origin in self.origins]
        if origins == self.origins:
            return self
        node = self.copy() if self.reused else self
        node.origins = origins
        return node

    def share(self) -> None:
        """Let the object, and the objects in it, be part of several trees."""
        self.shared = True
        for definitions in self.fields.values():
            for definition in definitions:
                if type(definition.node) is ObjectNode and not definition.node.shared:
                    definition.node.share()


Node = ScalarNode | ListNode | ObjectNode | Substitution | Concatenation | Append


@dataclass(frozen=True, slots=True)
class Layer:
    """One parsed text with its includes.

    Arguments:
        file: the name of the text, as in `Span.file`.
        root: its root object. After syntax errors, the part that could be read.
        diagnostics: the findings about the text.
    """

    file: str
    root: ObjectNode
    diagnostics: tuple[Diagnostic, ...] = ()


_PLAIN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def path_text(path: tuple[str, ...]) -> str:
    """Return a path in HOCON notation, with keys in quotes where necessary."""
    return ".".join(_key_texts(path))


def _key_texts(path: tuple[str, ...]) -> Iterator[str]:
    for key in path:
        yield key if key and _PLAIN_KEY.issuperset(key) else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
