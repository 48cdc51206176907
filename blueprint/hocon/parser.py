"""The grammar of HOCON: text in, tree out, with every syntax error of the text in one pass."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Protocol

from blueprint.diagnostics import Diagnostic, Edit, Fix, Label
from blueprint.diagnostics.codes import finding
from blueprint.hocon import lexer
from blueprint.hocon.paths import PathFault, Segment, read_path
from blueprint.hocon.source import MAX_DEPTH, Source, too_deep
from blueprint.hocon.strings import StringFault
from blueprint.hocon.tree import (
    Append,
    Concatenation,
    Definition,
    ListNode,
    Node,
    ObjectNode,
    ScalarNode,
    Substitution,
)  # fmt: skip
from blueprint.hocon.values import Origin

_MAX_FINDINGS = 30
_MAX_INDENT = 200  # looking further back for a line's beginning would make one long line cost its square
_MAX_SHOWN = 60
_CLOSER = {"{": "}", "[": "]"}
_ENDS = frozenset("\n,}]#")

Path = tuple[str, ...]


class Includer(Protocol):
    """Where included files come from."""

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
        """What `include` at `place` of `source` stands for.

        Arguments:
            name: as quoted; kind: `file`, `url`, `classpath` or empty; required: whether it must exist.
            source, place: the including text, and where the statement stands in it (offsets).
            roots: where its substitutions are looked up besides the root, nearest first.
            depth: how deeply the statement is nested.
        """


class _Stop(Exception):  # noqa: N818  # ends the reading of a hopeless text; it is no error of ours
    pass


class Parser:
    """Reads one text.

    Arguments:
        source: the text.
        includer: resolves `include`.
        roots: as in `Substitution.roots`.
        depth: how deeply the text is nested in what includes it.
    """

    def __init__(self, source: Source, includer: Includer, roots: tuple[Path, ...] = (), depth: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.includer = includer
        self.roots = roots
        self.base_depth = depth
        self.findings: list[Diagnostic] = []
        self.open: list[int] = []
        self.suspect: int | None = None
        self.lost = False  # whether an error swallowed opening brackets, so that missing closing ones prove nothing

    def parse(self) -> ObjectNode:
        """The root object; what is wrong with the text is in `findings`."""
        root = ObjectNode(origins=[Origin(self.source.span(0, len(self.text)))])
        with contextlib.suppress(_Stop):
            self._root(root)
        return root

    def _root(self, root: ObjectNode) -> None:
        at = self._skip(0)
        first = self.text[at : at + 1]
        if first == "[":
            self._report("a list stands where the file's object should stand", at, at + 1)
        elif first == "{":
            at = self._skip(self._fields(at + 1, root, self.base_depth, (), at))
            if at < len(self.text):
                self._report(
                    f"`{self._word(at)}` stands behind the end of the file's object", at, at + len(self._word(at))
                )
        else:
            self._fields(at, root, self.base_depth, (), None)

    # Objects

    def _fields(self, at: int, node: ObjectNode, depth: int, path: Path | None, opened: int | None) -> int:
        """Fields up to the closing brace (`opened` is the opening one's place) or the text's end; the offset behind."""
        text = self.text
        if opened is not None:
            self._enter(opened, depth)
        while True:
            at = self._skip(at)
            first = text[at : at + 1]
            if first == "}" and opened is not None:
                return self._leave(at)
            if not first:
                if opened is not None:
                    self._unclosed(at)
                return at
            if first in ("}", "]"):
                if opened is not None and (self._in_list() or "\n" not in text[opened:at]):
                    self._report("`]` stands where `}` should stand", at, at + 1, opened=opened)
                    self.open.pop()
                    return at if self._in_list() else at + 1
                self._report(f"this `{first}` closes nothing", at, at + 1)
                at += 1
            elif first == ",":
                self._report("a comma stands where a key should stand", at, at + 1)
                at += 1
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
            found = self._key(at)
            if found is None:
                return self._recover(at)
            segments, operator, behind = found
        value = self._field_value(segments, operator, behind, depth, path)
        if isinstance(value, int):
            return value
        self._set(node, segments, value[0], value[1])
        return value[1]

    def _key(self, at: int) -> tuple[list[Segment], str, int] | None:
        """The path, the separator and the offset behind it; None when there is no field here (reported)."""
        text = self.text
        found = read_path(text, at)
        if isinstance(found, PathFault):
            if text.startswith("${", at):
                self._report("a substitution cannot be a key", at, at + 2)
            elif found.start == found.end:
                word = self._word(at)
                self._report(f"`{word}` stands where a key should stand", at, at + len(word), help=_quoting(word))
            else:
                self._report(found.message, found.start, found.end, help=found.help)
            return None
        segments, end = found
        behind = self._skip(end)
        operator = text[behind : behind + 1]
        if text.startswith("+=", behind):
            return segments, "+=", behind + 2
        if operator and operator in "=:{":
            return segments, operator, behind + 1
        near = lexer.blank.match(text, end).end()  # type: ignore[union-attr]  # matches always
        if near < len(text) and text[near] not in _ENDS and not text.startswith("//", near):
            word = self._word(near)
            self._report(
                f"`{word}` stands where `=`, `:` or `{{` should stand", near, near + len(word), help=_quoting(word)
            )
        else:
            shown = _shown(text[at:end])
            self._report(f"the key `{shown}` has no value", at, end, help=[f"write `{shown} = ...`"])
        return None

    def _field_value(
        self, segments: list[Segment], operator: str, at: int, depth: int, path: Path | None
    ) -> tuple[Node, int] | int:
        """The value and its end, or where to go on when there is none (reported)."""
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
            # `a =` and on the next line `b = 1`: the value is missing, the next line is a field of its own.
            self.findings.pop()
            return self._no_value(segments, at)
        if isinstance(value, int):
            return self._recover(value)
        if operator == "+=":
            span = self.source.span(start, value[1])
            return Append(value[0], span), value[1]
        return value

    def _no_value(self, segments: list[Segment], at: int) -> int:
        shown = _shown(self.text[segments[0].start : segments[-1].end])
        self._report(f"the key `{shown}` has no value", segments[0].start, at, help=['write `""` for an empty text'])
        return at

    def _set(self, node: ObjectNode, segments: list[Segment], value: Node, end: int) -> None:
        """Set a path: every key but the last stands for an object of one field."""
        span = self.source.span
        for segment, after in pairwise(segments):
            key = span(segment.start, segment.end)
            inner = ObjectNode(origins=[Origin(span(after.start, end), key)])
            node.add(segment.key, Definition(key, inner))
            node = _last_object(node, segment.key)
        last = segments[-1]
        key = span(last.start, last.end)
        if type(value) is ObjectNode:
            value.origins = [Origin(origin.span, key) for origin in value.origins]
        node.add(last.key, Definition(key, value))

    # Values

    def _value(self, at: int, depth: int, path: Path | None) -> tuple[Node, int] | int:
        """The value at `at` and the offset behind it, or the offset where reading failed (reported)."""
        text = self.text
        quick = lexer.plain_value.match(text, at)
        if quick is not None:
            word = quick[1]
            end = at + len(word)
            return ScalarNode(lexer.meaning(word), word, False, self.source.span(at, end)), end
        quick = lexer.string_value.match(text, at)
        if quick is not None:
            return ScalarNode(quick[1], quick[1], True, self.source.span(at, quick.end())), quick.end()
        return self._parts(at, depth, path)

    def _parts(self, start: int, depth: int, path: Path | None) -> tuple[Node, int] | int:
        """Values side by side, up to what ends a value."""
        parts: list[Node] = []
        gaps: list[str] = []
        at, gap = start, ""
        while True:
            part = self._part(at, depth, path)
            if part is None:
                return self._stray(start, at)
            if isinstance(part, int):
                return part
            parts.append(part[0])
            gaps.append(gap)
            end = part[1]
            behind = lexer.blank.match(self.text, end).end()  # type: ignore[union-attr]  # matches always
            if behind == len(self.text) or self.text[behind] in _ENDS or self.text.startswith("//", behind):
                return self._joined(parts, gaps, start, end), end
            at, gap = behind, self.text[end:behind]

    def _part(self, at: int, depth: int, path: Path | None) -> tuple[Node, int] | int | None:
        """One of the values side by side; None when none begins here."""
        text = self.text
        match text[at : at + 1]:
            case "{":
                inner = ObjectNode()
                end = self._fields(at + 1, inner, depth + 1, path, at)
                inner.origins.insert(0, Origin(self.source.span(at, end)))
                return inner, end
            case "[":
                return self._list(at, depth + 1)
            case '"':
                found = lexer.quoted(text, at)
                if isinstance(found, StringFault):
                    self._report(found.message, found.start, found.end, help=[found.help])
                    return found.resume
                return ScalarNode(found[0], found[0], True, self.source.span(at, found[1])), found[1]
            case "$":
                return self._substitution(at)
        word = lexer.signed_exponent.match(text, at) or lexer.unquoted.match(text, at)
        if word is None:
            return None
        return ScalarNode(lexer.meaning(word[0]), word[0], False, self.source.span(at, word.end())), word.end()

    def _joined(self, parts: list[Node], gaps: list[str], start: int, end: int) -> Node:
        if len(parts) == 1:
            return parts[0]
        span = self.source.span(start, end)
        texts = [part.text for part in parts if isinstance(part, ScalarNode)]
        if len(texts) < len(parts):
            return Concatenation(parts, gaps, span)
        text = "".join(gap + text for gap, text in zip(gaps, texts, strict=True))
        return ScalarNode(text, text, any(part.quoted for part in parts if isinstance(part, ScalarNode)), span)

    def _stray(self, start: int, at: int) -> int:
        """A character that no value may hold without quotes."""
        text = self.text
        line = text.find("\n", at)
        whole = text[start : line if line >= 0 else len(text)].rstrip().rstrip(",").rstrip()
        helps, fix = [], None
        if len(whole) <= _MAX_SHOWN and not any(character in whole for character in '"{}[]#,\\$'):
            helps = [f'put it in quotes: `"{whole}"`']
            edit = Edit(self.source.span(start, start + len(whole)), f'"{whole}"')
            fix = Fix("put the value in quotes", (edit,))
        self._report(f"`{text[at]}` cannot stand in a value without quotes", at, at + 1, help=helps, fix=fix)
        return at

    def _list(self, opened: int, depth: int) -> tuple[Node, int] | int:
        text = self.text
        self._enter(opened, depth)
        items: list[Node] = []
        at = behind = opened + 1
        while True:
            at = self._skip(at)
            first = text[at : at + 1]
            if first == "]":
                end = self._leave(at)
                return ListNode(items, self.source.span(opened, end)), end
            if not first:
                self._unclosed(at)
                return ListNode(items, self.source.span(opened, at)), at
            if first == "}":
                self._report("`}` stands where `]` should stand", at, at + 1, opened=opened)
                self.open.pop()
                if any(text[place] == "{" for place in self.open):
                    return ListNode(items, self.source.span(opened, at)), at
                return at + 1
            if first == ",":
                self._report("a comma stands where an item should stand", at, at + 1)
                at += 1
                continue
            item = self._value(at, depth, None)
            if isinstance(item, int) and text[item : item + 1] in ("=", ":") and "\n" in text[behind:at]:
                # A field on a line of its own: the list was forgotten to be closed before it.
                self.findings.pop()
                self._report("this `[` is never closed", opened, opened + 1, help=["close it with `]`"])
                self.open.pop()
                return ListNode(items, self.source.span(opened, behind)), behind
            if isinstance(item, int):
                at = self._recover(item)
            else:
                items.append(item[0])
                at = item[1]
            behind = at
            at = self._separator(at, "]", opened)

    def _substitution(self, at: int) -> tuple[Node, int] | int:
        text = self.text
        opening = lexer.substitution.match(text, at)
        if opening is None:
            self._report("`$` cannot stand in a value without quotes", at, at + 1, help=[
                'put it in quotes, or write `${path}` for the value of another key'])  # fmt: skip
            return at + 1
        inner = lexer.blank.match(text, opening.end()).end()  # type: ignore[union-attr]  # matches always
        found = read_path(text, inner)
        if isinstance(found, PathFault):
            close = text.find("}", at, at + 200)
            end = close + 1 if close >= 0 else opening.end()
            if found.start == found.end:
                self._report("a path should stand between `${` and `}`", at, end)
            else:
                self._report(found.message, found.start, found.end, help=found.help)
            return end
        close = lexer.blank.match(text, found[1]).end()  # type: ignore[union-attr]  # matches always
        if text[close : close + 1] != "}":
            self._report("the `${` is never closed", at, found[1], help=["close it with `}`"])
            return close
        path = tuple(segment.key for segment in found[0])
        node = Substitution(path, opening[1] is not None, self.source.span(at, close + 1), self.roots)
        return node, close + 1

    # Includes

    def _include(self, at: int, node: ObjectNode, depth: int, path: Path | None) -> int:
        text = self.text
        start = self._skip(at + len("include"))
        named = lexer.resource.match(text, start)
        if named is None:
            self._report(
                "`include` needs the name of a file in quotes", at, at + len("include"),
                help=['write `include "other.conf"`', 'put a key called `include` in quotes: `"include" = ...`'],
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
                self._report("a `(` of the include is not closed", at, end, help=["close it with `)`"])
                return self._recover(end)
            end = close + 1
        base = self.roots[0] if self.roots else ()
        roots = (base + path, *self.roots) if path else self.roots
        found, findings = self.includer.include(
            name[0], named[2] or "", named[1] is not None, self.source, (at, end), roots, depth
        )
        self.findings += findings
        if found is not None:
            for key, definitions in found.fields.items():
                for definition in definitions:
                    node.add(key, definition)
        return end

    # Separators, nesting, recovery

    def _separator(self, at: int, closer: str, opened: int | None) -> int:
        """Over the comma or line end behind a field or item; reports what stands there instead."""
        text = self.text
        line_end = lexer.tail.match(text, at).end()  # type: ignore[union-attr]  # matches always
        first = text[line_end : line_end + 1]
        if first == "\n":
            at = self._skip(line_end)
            return at + 1 if text[at : at + 1] == "," else at
        if first == ",":
            return line_end + 1
        if first and first not in "}]":
            word = self._word(line_end)
            self._report(
                f"`{word}` stands where `,`, `{closer}` or the end of the line should stand",
                line_end, line_end + len(word),
            )  # fmt: skip
            return self._separator(self._recover(line_end), closer, opened)
        return line_end

    def _recover(self, at: int) -> int:
        """The next line end, comma or closing bracket that belongs to what is open now."""
        nested = 0
        for found in lexer.until_resumable.finditer(self.text, at):
            first = self.text[found.start()]
            if first in "{[":
                nested += 1
            elif first in "}]":
                if nested == 0:
                    return found.start()
                nested -= 1
            elif nested == 0 and first in ",\n":
                return found.start()
        self.lost = self.lost or nested > 0
        return len(self.text)

    def _enter(self, opened: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._too_deep(opened)
        self.open.append(opened)

    def _too_deep(self, at: int) -> None:
        self.findings.append(too_deep(self.source, at))
        raise _Stop

    def _in_list(self) -> bool:
        return any(self.text[place] == "[" for place in self.open)

    def _leave(self, at: int) -> int:
        opened = self.open.pop()
        if self.suspect is None and self._indent(at, alone=True) < self._indent(opened, alone=False):
            self.suspect = opened
        return at + 1

    def _indent(self, at: int, *, alone: bool) -> int:
        """Indentation of the line at `at`; a large number with `alone` unless nothing stands before `at`."""
        first = max(0, at - _MAX_INDENT)
        begin = self.text.rfind("\n", first, at) + 1
        if begin == 0 and first > 0:
            return 0 if not alone else 1 << 30
        before = self.text[begin:at]
        if alone:
            return len(before) if not before.strip() else 1 << 30
        return len(before) - len(before.lstrip())

    def _unclosed(self, at: int) -> None:
        """The text ends inside brackets: one finding, at the bracket that the indentation says was forgotten."""
        if not self.open or self.lost:
            return
        shown = self.suspect if self.suspect is not None else self.open[-1]
        opener = self.text[shown]
        end = len(self.text.rstrip())
        self.open.clear()
        self._report(
            f"this `{opener}` is never closed", shown, shown + 1,
            also=[Label(self.source.span(end, end), "the text ends here")],
            help=[f"close it with `{_CLOSER[opener]}`"],
        )  # fmt: skip

    def _skip(self, at: int) -> int:
        return lexer.skip.match(self.text, at).end()  # type: ignore[union-attr]  # matches always

    def _word(self, at: int) -> str:
        word = lexer.unquoted.match(self.text, at)
        shown = word[0] if word else self.text[at : at + 1]
        return shown[:_MAX_SHOWN]

    def _report(
        self, headline: str, start: int, end: int, *, opened: int | None = None, also: list[Label] | None = None,
        help: list[str] | tuple[str, ...] = (), fix: Fix | None = None,
    ) -> None:  # fmt: skip
        labels = list(also or [])
        if opened is not None:
            labels.append(Label(self.source.span(opened, opened + 1), "opened here"))
        self.findings.append(finding("syntax", headline, self.source.span(start, end), also=labels, help=help, fix=fix))
        if len(self.findings) >= _MAX_FINDINGS:
            raise _Stop


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"


def _split(key: str, at: int) -> list[Segment]:
    segments = []
    for part in key.split("."):
        segments.append(Segment(part, at, at + len(part)))
        at += len(part) + 1
    return segments


def _last_object(node: ObjectNode, key: str) -> ObjectNode:
    last = node.fields[key][-1].node
    assert isinstance(last, ObjectNode)  # it was added a line above, or merged into one
    return last


def _quoting(word: str) -> list[str]:
    if word[:1].isalnum() or word[:1] in _CLOSER:
        return []
    return ["a key with other than letters, digits, `-` and `_` stands in quotes"]
