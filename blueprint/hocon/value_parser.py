"""The grammar of HOCON's values: strings, numbers, lists, substitutions, and concatenations of them."""

from __future__ import annotations

import re

from blueprint.diagnostics import Edit, Fix, FixKind
from blueprint.hocon import lexer
from blueprint.hocon.blocks import Blocks, Place
from blueprint.hocon.paths import PathFault, read_path
from blueprint.hocon.reading import ENDS, MAX_SHOWN, Reading
from blueprint.hocon.strings import StringFault
from blueprint.hocon.tree import Concatenation, ListNode, Node, ObjectNode, ScalarNode, Substitution
from blueprint.hocon.values import Origin

Path = tuple[str, ...]

_MORE_THAN_A_VALUE = re.compile(r"=|:\s|\s//")
"""A sign that the line continues with another key or a comment."""

_END_OF_VALUE = re.compile(r"[\n,}\]]|\s(?:#|//)")
_AFTER_A_COMMA = re.compile(r"[^\S\n]*(?:\n|\}|\Z|[\w.\-\"]+\s*[=:{])")
"""The beginning of a field after a comma."""

_TO_A_BRACE = re.compile(r"[^{}\[\]\n]*\}")


class ValueParser(Reading):
    """Reads values. A subclass reads the fields of objects.

    `roots` is as in `Substitution.roots`, `blocks` has the objects of an earlier version of the text.
    """

    roots: tuple[Path, ...] = ()
    blocks: Blocks | None = None

    def _fields(self, at: int, node: ObjectNode, depth: int, path: Path | None, opened: int | None) -> int:
        raise NotImplementedError

    def _value(self, at: int, depth: int, path: Path | None) -> tuple[Node, int] | int:
        """Return the value at `at` and the offset after it, or the offset of a reported syntax error."""
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
        """Read adjacent values up to the end of the line or of the value; the result is as for `_value`."""
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
            if behind == len(self.text) or self.text[behind] in ENDS or self.text.startswith("//", behind):
                return self._joined(parts, gaps, start, end), end
            at, gap = behind, self.text[end:behind]

    def _part(self, at: int, depth: int, path: Path | None) -> tuple[Node, int] | int | None:
        """Read one of several adjacent values; None when no value begins at `at`."""
        text = self.text
        match text[at : at + 1]:
            case "{":
                return self._object(at, depth + 1, path)
            case "[":
                return self._list(at, depth + 1)
            case '"':
                string = lexer.quoted(text, at)
                if isinstance(string, StringFault):
                    self._report(string.message, string.start, string.end, help=[string.help])
                    return string.resume
                return ScalarNode(string[0], string[0], True, self.source.span(at, string[1])), string[1]
            case "$":
                return self._substitution(at)
        word = lexer.signed_exponent.match(text, at) or lexer.unquoted.match(text, at)
        if word is None:
            return None
        return ScalarNode(lexer.meaning(word[0]), word[0], False, self.source.span(at, word.end())), word.end()

    def _object(self, at: int, depth: int, path: Path | None) -> tuple[ObjectNode, int]:
        """Read an object, unless it is one of an earlier version of the text."""
        blocks = self.blocks
        if blocks is None:
            return self._new_object(at, depth, path)
        place = Place(*self.source.place(at), self._indent(at, alone=False), depth)
        known = blocks.find(place, self.text, at)
        if known is not None:
            return known
        reported = len(self.findings)
        node, end = self._new_object(at, depth, path)
        if len(self.findings) == reported and self.suspect is None and not self.lost:
            blocks.keep(place, self.text[at:end], node)
        return node, end

    def _new_object(self, at: int, depth: int, path: Path | None) -> tuple[ObjectNode, int]:
        node = ObjectNode()
        end = self._fields(at + 1, node, depth, path, at)
        node.origins.insert(0, Origin(self.source.span(at, end)))
        return node, end

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
        """Report a character that is not allowed in an unquoted value, and return its offset."""
        text = self.text
        whole = text[start : self._value_end(start)].rstrip()
        helps, fix = [], None
        if len(whole) <= MAX_SHOWN and not any(character in whole for character in '"{}[]#,\\$'):
            helps = [f'put it in quotes: `"{whole}"`']
            edit = Edit(self.source.span(start, start + len(whole)), f'"{whole}"', whole)
            fix = (
                None
                if _MORE_THAN_A_VALUE.search(whole)
                else Fix(FixKind.QUOTE_VALUE, "put the value in quotes", (edit,))
            )
        self._report(f"`{text[at]}` is not allowed in an unquoted value", at, at + 1, help=helps, fix=fix)
        return at

    def _value_end(self, start: int) -> int:
        """Return the offset at which a value with invalid characters ends.

        It ends with its line, with the object or list around it, at a comment, or at a comma after which another field
        or item begins.
        """
        for match in _END_OF_VALUE.finditer(self.text, start):
            if match[0] != "," or self._in_list() or _AFTER_A_COMMA.match(self.text, match.end()):
                return match.start()
        return len(self.text)

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
                end = self._wrong_closer(at, opened)
                return ListNode(items, self.source.span(opened, end)), end
            if first == ",":
                self._report("expected an item, found `,`", at, at + 1)
                at += 1
                continue
            item = self._value(at, depth, None)
            if (
                isinstance(item, int)
                and text[item : item + 1] in ("=", ":")
                and ("\n" in text[behind:at] or (items and _TO_A_BRACE.match(text, item)))
            ):
                # A field on a line of its own, or the last one before a brace: a list was not closed before it.
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
            self._report("`$` is not allowed in an unquoted value", at, at + 1, help=[
                'put it in quotes, or write `${path}` for the value of another key'])  # fmt: skip
            return at + 1
        inner = lexer.blank.match(text, opening.end()).end()  # type: ignore[union-attr]  # matches always
        reference = read_path(text, inner)
        if isinstance(reference, PathFault):
            close = text.find("}", at, at + 200)
            end = close + 1 if close >= 0 else opening.end()
            if reference.start == reference.end:
                self._report("expected a path between `${` and `}`", at, end)
            else:
                self._report(reference.message, reference.start, reference.end, help=reference.help)
            return end
        close = lexer.blank.match(text, reference[1]).end()  # type: ignore[union-attr]  # matches always
        if text[close : close + 1] != "}":
            self._report("the `${` is never closed", at, reference[1], help=["close it with `}`"])
            return close
        path = tuple(segment.key for segment in reference[0])
        node = Substitution(path, opening[1] is not None, self.source.span(at, close + 1), self.roots)
        return node, close + 1
