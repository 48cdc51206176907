"""Spark DDL (`src string, ts timestamp not null`), parsed without Spark and converted to an Avro schema.

Nullability is the same as in Spark. A column is nullable unless it is declared NOT NULL: it becomes a union with null,
with the default null. Items of arrays and values of maps are always nullable. The types follow the conversion of
spark-avro, except decimals, which become bytes (a fixed would need a name).
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
    """Invalid DDL text.

    Arguments:
        message: what is wrong, as a clause.
        column: where, counted in characters from 1.
        advice: what to write instead, "" when that is not known.
    """

    def __init__(self, message: str, column: int, advice: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.advice = advice


class NoAvroTypeError(DdlError):
    """The text is valid DDL, but Avro has no such type; see `DdlError`."""


def schema_of_ddl(text: str) -> dict[str, Any]:
    """Return the Avro schema of a list of columns, as JSON data.

    Raises:
        DdlError: the text is not valid DDL.
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
            match = _TOKEN.match(stripped, at)
            assert match is not None  # the last alternative matches any character
            number = match.lastindex or 4
            kind = ("quoted", "word", "text", "sign")[number - 1]
            token = match[number].replace("``", "`") if kind == "quoted" else match[number]
            self._tokens.append(_Token(kind, token, match.start(number) + 1))
            at = match.end()
        self._tokens.append(_Token("end", "", len(stripped) + 1))
        self._at = 0

    def columns(self, record: str, end: str) -> list[dict[str, Any]]:
        """Parse columns up to the token `end` ("" for the end of the text)."""
        fields = []
        while True:
            fields.append(self._column(record))
            token = self._next()
            if token.text == end:
                return fields
            if token.text != ",":
                closing = f"`{end}`" if end else "the end"
                raise _unexpected(f"`,` or {closing}", token)

    def _column(self, record: str) -> dict[str, Any]:
        name = self._next()
        if name.kind not in ("word", "quoted"):
            raise _unexpected("a column name", name)
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
                raise _unexpected("the comment as a quoted string", comment)
            column["doc"] = re.sub(r"\\(['\"\\])", r"\1", comment.text[1:-1])
        return column

    def _type(self, place: str) -> Any:
        token = self._next()
        name = token.text.lower()
        if token.kind != "word":
            raise _unexpected("a type", token)
        if name in _DECIMAL:
            precision, scale = [*self._numbers(2), 0][:2] if self._peek().text == "(" else (10, 0)
            if not (1 <= precision <= 38 and scale <= precision):
                limits = "the precision must be 1 to 38, and the scale at most the precision"
                raise DdlError(f"invalid type decimal({precision}, {scale}): {limits}", token.column)
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
            raise NoAvroTypeError("Avro map keys must be strings", key.column, advice)
        self._expect(",")
        values = self._type(place)
        self._expect(">")
        return {"type": "map", "values": _nullable(values)}

    def _no_type(self, token: _Token) -> DdlError:
        import difflib

        if token.text.lower() in _NO_AVRO:
            return NoAvroTypeError(f"Avro has no type for `{token.text}`", token.column)
        known = [*_TYPES, *_DECIMAL, "array", "map", "struct"]
        near = difflib.get_close_matches(token.text.lower(), known, n=1)
        return DdlError(f"unknown type `{token.text}`", token.column, f"did you mean `{near[0]}`?" if near else "")

    def _numbers(self, most: int) -> list[int]:
        self._expect("(")
        numbers: list[int] = []
        while len(numbers) < most:
            token = self._next()
            if not _NUMBER.fullmatch(token.text):
                raise _unexpected("a number", token)
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
        """Consume `word` if it is the next token; return whether it was."""
        if self._peek().kind != "word" or self._peek().text.lower() != word:
            return False
        self._next()
        return True

    def _expect(self, text: str) -> None:
        token = self._next()
        if token.text.lower() != text:
            raise _unexpected(f"`{text.upper()}`", token)


def _nullable(schema: Any) -> Any:
    return schema if schema == "null" else ["null", schema]


def _unexpected(expected: str, token: _Token) -> DdlError:
    shown = "the end" if token.kind == "end" else f"`{token.text}`"
    return DdlError(f"expected {expected}, found {shown}", token.column)
