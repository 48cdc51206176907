"""Spark's DDL text for a schema (`src string, ts timestamp not null`), read without Spark, as an Avro schema.

What Spark says of a type is kept: a column is nullable unless it says NOT NULL, and the items of an array and the
values of a map always are; so they become a union with null, fields with the default null. The types follow
spark-avro's own conversion to Avro, but for decimals, which become bytes (a fixed would need a name).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from blueprint.avro.model import UNNAMED

_QUOTED, _WORD = r"`((?:[^`]|``)+)`", r"([A-Za-z_0-9]\w*)"
_TEXT = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_TOKEN = re.compile(rf"\s*(?:{_QUOTED}|{_WORD}|{_TEXT}|(.))", re.DOTALL)

_TYPES: dict[str, Any] = {
    "boolean": "boolean",
    "double": "double",
    "binary": "bytes",
    "void": "null",
    **dict.fromkeys(("tinyint", "byte", "smallint", "short", "int", "integer"), "int"),
    **dict.fromkeys(("bigint", "long"), "long"),
    **dict.fromkeys(("float", "real"), "float"),
    **dict.fromkeys(("string", "char", "character", "varchar"), "string"),
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ltz": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}
_NUMBER = re.compile(r"[0-9]{1,18}")
_DECIMAL = ("decimal", "dec", "numeric")
_NO_AVRO = ("interval", "variant", "geometry", "geography")


class DdlError(Exception):
    """Text that is no schema. `column` counts characters of the text from 1."""

    def __init__(self, message: str, column: int, advice: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.advice = advice


def schema_of_ddl(text: str) -> dict[str, Any]:
    """The Avro schema, as JSON data, of a list of columns.

    Raises `DdlError` for text that is none.
    """
    reader = _Reader(text)
    fields = reader.columns(f"{UNNAMED}.Row", end="")
    return {"type": "record", "name": f"{UNNAMED}.Row", "fields": fields}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "quoted", "word", "text", "sign", "end"
    text: str
    column: int


class _Reader:
    """Reads the tokens of one text from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = []
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            found = _TOKEN.match(stripped, at)
            assert found is not None  # the last alternative matches any character
            number = found.lastindex or 4
            kind = ("quoted", "word", "text", "sign")[number - 1]
            shown = found[number].replace("``", "`") if kind == "quoted" else found[number]
            self._tokens.append(_Token(kind, shown, found.start(number) + 1))
            at = found.end()
        self._tokens.append(_Token("end", "", len(stripped) + 1))
        self._at = 0

    def columns(self, record: str, end: str) -> list[dict[str, Any]]:
        """Columns up to the sign `end` ("" for the end of the text)."""
        fields = []
        while True:
            fields.append(self._column(record))
            token = self._next()
            if token.text == end:
                return fields
            if token.text != ",":
                closing = f"`{end}`" if end else "the end"
                raise DdlError(f"{_shown(token)} stands where `,` or {closing} should", token.column)

    def _column(self, record: str) -> dict[str, Any]:
        name = self._next()
        if name.kind not in ("word", "quoted"):
            raise DdlError(f"{_shown(name)} stands where a column's name should", name.column)
        if self._peek().text == ":":
            self._next()
        schema = self._type(f"{record}.{name.text}")
        column: dict[str, Any] = {"name": name.text, "type": schema}
        if self._word("not"):
            self._expect("null")
        elif schema == "null":
            column["default"] = None
        else:
            column |= {"type": ["null", schema], "default": None}
        if self._word("comment"):
            comment = self._next()
            if comment.kind != "text":
                raise DdlError(f"{_shown(comment)} stands where the comment's text should", comment.column)
            column["doc"] = re.sub(r"\\(['\"\\])", r"\1", comment.text[1:-1])
        return column

    def _type(self, place: str) -> Any:
        token = self._next()
        name = token.text.lower()
        if token.kind != "word":
            raise DdlError(f"{_shown(token)} stands where a type should", token.column)
        if name in _DECIMAL:
            precision, scale = [*self._numbers(2), 0][:2] if self._peek().text == "(" else (10, 0)
            if not (1 <= precision <= 38 and scale <= precision):
                raise DdlError(f"there is no decimal({precision}, {scale})", token.column)
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        if name in _TYPES:
            if name in ("char", "character", "varchar", "time") and self._peek().text == "(":
                self._numbers(1)
            return _TYPES[name]
        if name == "array":
            self._expect("<")
            items = self._type(place)
            self._expect(">")
            return {"type": "array", "items": _nullable(items)}
        if name == "map":
            return self._map(place)
        if name == "struct":
            self._expect("<")
            return {"type": "record", "name": place, "fields": self.columns(place, end=">")}
        raise self._no_type(token)

    def _map(self, place: str) -> Any:
        self._expect("<")
        key = self._peek()
        if self._type(place) != "string":
            advice = "use map<string, ...>, or an array of structs"
            raise DdlError("keys of a map are strings in Avro", key.column, advice)
        self._expect(",")
        values = self._type(place)
        self._expect(">")
        return {"type": "map", "values": _nullable(values)}

    def _no_type(self, token: _Token) -> DdlError:
        import difflib

        if token.text.lower() in _NO_AVRO:
            return DdlError(f"Avro has nothing for `{token.text}`", token.column)
        known = [*_TYPES, *_DECIMAL, "array", "map", "struct"]
        near = difflib.get_close_matches(token.text.lower(), known, n=1)
        return DdlError(f"there is no type `{token.text}`", token.column, f"did you mean `{near[0]}`?" if near else "")

    def _numbers(self, most: int) -> list[int]:
        self._expect("(")
        numbers: list[int] = []
        while len(numbers) < most:
            token = self._next()
            if not _NUMBER.fullmatch(token.text):
                raise DdlError(f"{_shown(token)} stands where a number should", token.column)
            numbers.append(int(token.text))
            if self._peek().text != ",":
                break
            self._next()
        self._expect(")")
        return numbers

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _word(self, word: str) -> bool:
        """Whether `word` comes next; takes it when it does."""
        if self._peek().kind != "word" or self._peek().text.lower() != word:
            return False
        self._next()
        return True

    def _expect(self, text: str) -> None:
        token = self._next()
        if token.text.lower() != text:
            raise DdlError(f"{_shown(token)} stands where `{text.upper()}` should", token.column)


def _nullable(schema: Any) -> Any:
    return schema if schema == "null" else ["null", schema]


def _shown(token: _Token) -> str:
    return "the end" if token.kind == "end" else f"`{token.text}`"
