"""The grammar of HOCON: reads a text into a tree, and reports all syntax errors in one pass."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Protocol

from blueprint.diagnostics import Diagnostic
from blueprint.hocon import lexer
from blueprint.hocon.blocks import Blocks
from blueprint.hocon.paths import PathFault, Segment, read_path
from blueprint.hocon.reading import ENDS, Stop, shown
from blueprint.hocon.source import MAX_DEPTH, Source
from blueprint.hocon.strings import StringFault
from blueprint.hocon.tree import (
    Append,
    Definition,
    Node,
    ObjectNode,
)  # fmt: skip
from blueprint.hocon.value_parser import Path, ValueParser
from blueprint.hocon.values import Origin


class Includer(Protocol):
    """Reads included files."""

    def include(
        self,
        name: str,
        kind: str,
        required: bool,
        source: Source,
        place: tuple[int, int],
        roots: tuple[Path, ...],
        depth: int,
    ) -> tuple[ObjectNode | None, list[Diagnostic]]:
        """Return the root object of the files that an `include` statement names, and the findings about them.

        Arguments:
            name: the name between the quotes.
            kind: `file`, `url`, `classpath` or empty.
            required: whether the file must exist.
            source: the including text.
            place: the offsets of the statement in it.
            roots: the paths under which substitutions are looked up besides the root, nearest first.
            depth: the nesting level of the statement.
        """


class Parser(ValueParser):
    """Reads one text.

    Arguments:
        source: the text to read.
        includer: reads the files of `include` statements.
        roots: as in `Substitution.roots`.
        depth: the nesting level at which the text is included.
        blocks: the objects of an earlier version of the text; receives the objects of this one.
    """

    def __init__(
        self,
        source: Source,
        includer: Includer,
        roots: tuple[Path, ...] = (),
        depth: int = 0,
        blocks: Blocks | None = None,
    ) -> None:
        super().__init__(source)
        self.blocks = blocks
        self.includer = includer
        self.roots = roots
        self.base_depth = depth
        self.doubled = 0

    def parse(self) -> ObjectNode:
        """Return the root object. `findings` has the findings about the text."""
        root = ObjectNode(origins=[Origin(self.source.span(0, len(self.text)))])
        with contextlib.suppress(Stop):
            self._root(root)
        if self.blocks is not None:
            self.blocks.limit(self.text)
        return root

    def _root(self, root: ObjectNode) -> None:
        at = self._skip(0)
        first = self.text[at : at + 1]
        if first == "[":
            self._report("the root of a configuration must be an object, found a list", at, at + 1)
        elif first == "{":
            at = self._skip(self._fields(at + 1, root, self.base_depth, (), at))
            if at < len(self.text):
                word = self._word(at)
                self._report(f"unexpected `{word}` after the end of the root object", at, at + len(word))
        else:
            self._fields(at, root, self.base_depth, (), None)

    # Objects

    def _fields(self, at: int, node: ObjectNode, depth: int, path: Path | None, opened: int | None) -> int:
        """Read fields up to the closing brace or the end of the text, and return the offset after them.

        Arguments:
            at: the offset at which to begin.
            node: the object to which the fields are added.
            depth: the nesting level of the object.
            path: the path of the object, None inside lists.
            opened: the offset of the opening brace, None for a root without braces.
        """
        text = self.text
        if opened is not None:
            self._enter(opened, depth)
        while True:
            at = self._skip(at)
            first = text[at : at + 1]
            if first == "}" and opened is not None:
                return self._leave(at)
            if not first:
                if opened is not None and not self.doubled:
                    self._unclosed(at)
                return at
            if first in ("}", "]"):
                if opened is None and first == "}" and self.doubled:  # it closes the brace that is one too many
                    self.doubled -= 1
                    at += 1
                    continue
                if opened is not None and (self._in_list() or "\n" not in text[opened:at]):
                    return self._wrong_closer(at, opened)
                self._report(f"unmatched `{first}`", at, at + 1)
                at += 1
            elif first == ",":
                self._report("expected a key, found `,`", at, at + 1)
                at += 1
            elif first == "{" and opened is not None and not text[opened + 1 : at].strip():
                self._report("expected a key, found `{`", at, at + 1, help=["remove one of the two braces"])
                while text[at : at + 1] == "{":
                    self.doubled += 1
                    at = self._skip(at + 1)
            else:
                at = self._separator(self._field(at, node, depth, path), "}", opened)

    def _field(self, at: int, node: ObjectNode, depth: int, path: Path | None) -> int:
        quick = lexer.plain_key.match(self.text, at)
        if quick is not None:
            key = quick[1]
            if "." in key:
                segments = _split(key, at)
            else:
                segments = [Segment(key, at, at + len(key))]
            operator, behind = quick[2], quick.end()
        else:
            if lexer.include.match(self.text, at):
                return self._include(at, node, depth, path)
            field = self._key(at)
            if field is None:
                return self._recover(at)
            segments, operator, behind = field
        value = self._field_value(segments, operator, behind, depth, path)
        if isinstance(value, int):
            return value
        self._set(node, segments, value[0], value[1])
        return value[1]

    def _key(self, at: int) -> tuple[list[Segment], str, int] | None:
        """Return the path, the separator and the offset after it; None after a reported syntax error."""
        text = self.text
        key_path = read_path(text, at)
        if isinstance(key_path, PathFault):
            if text.startswith("${", at):
                self._report("a substitution cannot be a key", at, at + 2)
            elif key_path.start == key_path.end:
                word = self._word(at)
                self._report(f"expected a key, found `{word}`", at, at + len(word), help=_quoting(word))
            else:
                self._report(key_path.message, key_path.start, key_path.end, help=key_path.help)
            return None
        segments, end = key_path
        behind = self._skip(end)
        operator = text[behind : behind + 1]
        if text.startswith("+=", behind):
            return segments, "+=", behind + 2
        if operator and operator in "=:{":
            return segments, operator, behind + 1
        near = lexer.blank.match(text, end).end()  # type: ignore[union-attr]  # matches always
        if near < len(text) and text[near] not in ENDS and not text.startswith("//", near):
            word = self._word(near)
            self._report(f"expected `=`, `:` or `{{`, found `{word}`", near, near + len(word), help=_quoting(word))
        else:
            key = shown(text[at:end])
            self._report(f"the key `{key}` has no value", at, end, help=[f"write `{key} = ...`"])
        return None

    def _field_value(
        self, segments: list[Segment], operator: str, at: int, depth: int, path: Path | None
    ) -> tuple[Node, int] | int:
        """Return the value and its end, or the offset at which to continue after a reported syntax error."""
        inner = path + tuple(segment.key for segment in segments) if path is not None else None
        depth += len(segments) - 1
        if depth >= MAX_DEPTH:
            self._too_deep(segments[0].start)
        if operator == "{":
            return self._value(at - 1, depth, inner)
        start = self._skip(at)
        if start == len(self.text) or self.text[start] in ",}]":
            return self._no_value(segments, at)
        value = self._value(start, depth, inner if operator != "+=" else None)
        if isinstance(value, int) and "\n" in self.text[at:start] and self.text[value : value + 1] in ("=", ":"):
            # `a =`, then `b = 1` on the next line: the value is missing, and the next line is a separate field.
            self.findings.pop()
            return self._no_value(segments, at)
        if isinstance(value, int):
            return self._recover(value)
        if operator == "+=":
            span = self.source.span(start, value[1])
            return Append(value[0], span), value[1]
        return value

    def _no_value(self, segments: list[Segment], at: int) -> int:
        key = shown(self.text[segments[0].start : segments[-1].end])
        self._report(f"the key `{key}` has no value", segments[0].start, at, help=['write `""` for an empty string'])
        return at

    def _set(self, node: ObjectNode, segments: list[Segment], value: Node, end: int) -> None:
        """Add a definition at a path: every key but the last becomes an object with one field."""
        span = self.source.span
        for segment, after in pairwise(segments):
            key = span(segment.start, segment.end)
            inner = ObjectNode(origins=[Origin(span(after.start, end), key)])
            node.add(segment.key, Definition(key, inner))
            node = _last_object(node, segment.key)
        last = segments[-1]
        key = span(last.start, last.end)
        if type(value) is ObjectNode:
            value = value.with_key(key)
        node.add(last.key, Definition(key, value))

    # Includes

    def _include(self, at: int, node: ObjectNode, depth: int, path: Path | None) -> int:
        text = self.text
        start = self._skip(at + len("include"))
        named = lexer.resource.match(text, start)
        if named is None:
            self._report(
                "expected a file name in quotes after `include`", at, at + len("include"),
                help=['write `include "other.conf"`', 'put a key named `include` in quotes: `"include" = ...`'],
            )  # fmt: skip
            return self._recover(at + len("include"))
        name = lexer.quoted(text, named.end())
        if isinstance(name, StringFault):
            self._report(name.message, name.start, name.end, help=[name.help])
            return name.resume
        end = name[1]
        for _ in range((named[1] is not None) + (named[2] is not None)):
            close = self._skip(end)
            if text[close : close + 1] != ")":
                self._report("unclosed `(` in an `include`", at, end, help=["close it with `)`"])
                return self._recover(end)
            end = close + 1
        base = self.roots[0] if self.roots else ()
        roots = (base + path, *self.roots) if path else self.roots
        root, findings = self.includer.include(
            name[0], named[2] or "", named[1] is not None, self.source, (at, end), roots, depth
        )
        self.findings += findings
        if root is not None:
            for key, definitions in root.fields.items():
                for definition in definitions:
                    node.add(key, definition)
        return end


def _split(key: str, at: int) -> list[Segment]:
    segments = []
    for part in key.split("."):
        segments.append(Segment(part, at, at + len(part)))
        at += len(part) + 1
    return segments


def _last_object(node: ObjectNode, key: str) -> ObjectNode:
    last = node.fields[key][-1].node
    assert isinstance(last, ObjectNode)  # the caller has just added it, or merged it into one
    return last


def _quoting(word: str) -> list[str]:
    if word[:1].isalnum() or word[:1] in ("{", "["):
        return []
    return ["put keys with characters other than letters, digits, `-` and `_` in quotes"]
