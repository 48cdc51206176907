"""A reader of strict JSON (RFC 8259) with the place of every value and key, for Avro schema files."""

from __future__ import annotations

import re

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.source import Source, too_deep
from blueprint.hocon.strings import StringFault, read_string
from blueprint.hocon.values import ListValue, ObjectValue, Origin, Scalar, Value

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[^\s,:{}\[\]\"]+|\S")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_MAX_DIGITS = 1000
_MAX_DEPTH = 128  # nested schemas need more levels than settings


def parse_json(text: str, file: str) -> tuple[Value | None, tuple[Diagnostic, ...]]:
    """Read one JSON value.

    Arguments:
        text: the whole file; a leading byte order mark is skipped.
        file: as in `Span.file`.

    Returns:
        The value, or None when the text is not valid JSON. Each value has its place (and, in objects, the place of its
        key) as its only origin. The findings: the first syntax error, and every duplicate key (the last one wins).
    """
    reader = _Reader(Source(file, text.removeprefix("\ufeff")))
    try:
        return reader.document(), tuple(reader.findings)
    except _Stop as stop:
        return None, (*reader.findings, stop.diagnostic)


class _Stop(Exception):  # noqa: N818  # it carries a finding, it is not an error of this project
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.findings: list[Diagnostic] = []

    def document(self) -> Value:
        at = self._skip(0)
        if at == len(self.text):
            raise _Stop(finding("file-empty", f"`{self.source.file}` is empty", self.source.span(0, 0)))
        value, at = self._value(at, None, 0)
        at = self._skip(at)
        if at < len(self.text):
            raise self._unexpected(at, "the end of the file")
        return value

    def _skip(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]  # it also matches the empty string

    def _value(self, at: int, key: Span | None, depth: int) -> tuple[Value, int]:
        first = self.text[at : at + 1]
        if first == '"':
            string, end = self._string(at)
            return Scalar(string, string, True, (Origin(self.source.span(at, end), key),)), end
        if first in ("{", "["):
            if depth == _MAX_DEPTH:
                raise _Stop(too_deep(self.source, at, _MAX_DEPTH))
            return self._object(at, key, depth) if first == "{" else self._list(at, key, depth)
        return self._plain(at, key)

    def _plain(self, at: int, key: Span | None) -> tuple[Value, int]:
        number = _NUMBER.match(self.text, at)
        if number is not None and number.end() - at <= _MAX_DIGITS:
            whole = number[1] is None and number[2] is None
            value = int(number[0]) if whole else float(number[0])
            return Scalar(value, number[0], False, (Origin(self.source.span(at, number.end()), key),)), number.end()
        word = _WORD.match(self.text, at)
        if word is None or word[0] not in _WORDS:
            raise self._unexpected(at, "a value")
        return Scalar(_WORDS[word[0]], word[0], False, (Origin(self.source.span(at, word.end()), key),)), word.end()

    def _string(self, at: int) -> tuple[str, int]:
        string = read_string(self.text, at)
        if isinstance(string, StringFault):
            span = self.source.span(string.start, string.end)
            raise _Stop(finding("syntax", string.message, span, help=[string.help]))
        return string

    def _list(self, start: int, key: Span | None, depth: int) -> tuple[Value, int]:
        items: list[Value] = []
        at = self._skip(start + 1)
        if self.text[at : at + 1] != "]":
            while True:
                item, at = self._value(at, None, depth + 1)
                items.append(item)
                at = self._skip(at)
                if self.text[at : at + 1] != ",":
                    break
                at = self._skip(at + 1)
            self._expect("]", at, start)
        return ListValue(tuple(items), (Origin(self.source.span(start, at + 1), key),)), at + 1

    def _object(self, start: int, key: Span | None, depth: int) -> tuple[Value, int]:
        fields: dict[str, Value] = {}
        keys: dict[str, Span] = {}
        at = self._skip(start + 1)
        if self.text[at : at + 1] != "}":
            while True:
                name, place, at = self._key(at, start)
                if name in keys:
                    self._duplicate(name, place, keys[name])
                keys[name] = place
                fields[name], at = self._value(at, place, depth + 1)
                at = self._skip(at)
                if self.text[at : at + 1] != ",":
                    break
                at = self._skip(at + 1)
            self._expect("}", at, start)
        return ObjectValue(fields, (Origin(self.source.span(start, at + 1), key),)), at + 1

    def _key(self, at: int, start: int) -> tuple[str, Span, int]:
        if self.text[at : at + 1] != '"':
            raise self._unexpected(at, "a key in double quotes", opened=start)
        name, end = self._string(at)
        colon = self._skip(end)
        if self.text[colon : colon + 1] != ":":
            raise self._unexpected(colon, "`:` after the key", opened=start)
        return name, self.source.span(at, end), self._skip(colon + 1)

    def _duplicate(self, name: str, place: Span, before: Span) -> None:
        self.findings.append(
            finding("duplicate-key", f"duplicate key `{name}`", place,
                    also=[Label(before, "first defined here")], help=["remove one of them"])
        )  # fmt: skip

    def _expect(self, closer: str, at: int, start: int) -> None:
        if self.text[at : at + 1] != closer:
            raise self._unexpected(at, f"`,` or `{closer}`", opened=start)

    def _unexpected(self, at: int, expected: str, opened: int | None = None) -> _Stop:
        also = [Label(self.source.span(opened, opened + 1), "opened here")] if opened is not None else []
        word = _WORD.match(self.text, at)
        if word is None:
            place = self.source.span(len(self.text.rstrip()), len(self.text.rstrip()))
            return _Stop(finding("syntax", f"expected {expected}, found the end of the file", place, also=also))
        shown = word[0] if len(word[0]) <= 40 else word[0][:40] + "…"
        place = self.source.span(at, word.end())
        return _Stop(finding("syntax", f"expected {expected}, found `{shown}`", place, also=also))
