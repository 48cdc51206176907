"""The grammar of HOCON's values: texts, numbers, lists, substitutions, and what stands side by side."""

from __future__ import annotations

import re

from blueprint.diagnostics import Edit, Fix, FixKind
from blueprint.hocon import lexer
from blueprint.hocon.paths import PathFault, read_path
from blueprint.hocon.reading import ENDS, MAX_SHOWN, Reading
from blueprint.hocon.strings import StringFault
from blueprint.hocon.tree import Concatenation, ListNode, Node, ObjectNode, ScalarNode, Substitution
from blueprint.hocon.values import Origin

Path = tuple[str, ...]

_MORE_THAN_A_VALUE = re.compile(r"=|:\s|\s//")
"""What shows that a line goes on with another key or with a comment."""

_TO_A_BRACE = re.compile(r"[^{}\[\]\n]*\}")


class ValueParser(Reading):
    """Reads values; what is between the braces of an object, whoever derives from this knows.

    `roots` is as in `Substitution.roots`.
    """

    roots: tuple[Path, ...] = ()

    def _fields(self, at: int, node: ObjectNode, depth: int, path: Path | None, opened: int | None) -> int:
        raise NotImplementedError

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
            if behind == len(self.text) or self.text[behind] in ENDS or self.text.startswith("//", behind):
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
        if len(whole) <= MAX_SHOWN and not any(character in whole for character in '"{}[]#,\\$'):
            helps = [f'put it in quotes: `"{whole}"`']
            edit = Edit(self.source.span(start, start + len(whole)), f'"{whole}"', whole)
            fix = (
                None
                if _MORE_THAN_A_VALUE.search(whole)
                else Fix(FixKind.QUOTE_VALUE, "put the value in quotes", (edit,))
            )
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
                end = self._wrong_closer(at, opened)
                return ListNode(items, self.source.span(opened, end)), end
            if first == ",":
                self._report("a comma stands where an item should stand", at, at + 1)
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
