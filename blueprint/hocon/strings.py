"""A reader of JSON's quoted strings, for JSON and HOCON."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN = re.compile(r'"([^"\\\x00-\x1f]*)"')
_PIECE = re.compile(r'[^"\\\x00-\x1f]+|\\u[0-9A-Fa-f]{4}|\\["\\/bfnrt]')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LINE_REST = re.compile(r"[^\n]*")


@dataclass(frozen=True, slots=True)
class StringFault:
    """A fault of a quoted string: its message and place (offsets), and the offset at which to continue reading."""

    message: str
    start: int
    end: int
    resume: int
    help: str


def read_string(text: str, start: int) -> tuple[str, int] | StringFault:
    """Read the quoted string that begins at `start` (JSON's grammar, RFC 8259 section 7).

    Returns:
        Its value and the offset after its closing quote, or the fault.
    """
    plain = _PLAIN.match(text, start)
    if plain is not None:
        return plain[1], plain.end()
    pieces: list[str] = []
    at = start + 1
    while piece := _PIECE.match(text, at):
        characters = piece[0]
        if characters[0] != "\\":
            pieces.append(characters)
        elif characters[1] == "u":
            pieces.append(chr(int(characters[2:], 16)))
        else:
            pieces.append(_ESCAPES[characters[1]])
        at = piece.end()
    if text[at : at + 1] == '"':
        return _joined(pieces, start, at + 1)
    return _fault(text, start, at)


def _joined(pieces: list[str], start: int, end: int) -> tuple[str, int] | StringFault:
    value = "".join(pieces)
    if any("\ud800" <= piece <= "\udfff" for piece in pieces):
        try:
            value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            return StringFault(
                "unpaired surrogate in a string", start, end, end,
                r"write both halves (`\ud83d\ude00`), or the character itself",
            )  # fmt: skip
    return value, end


def _fault(text: str, start: int, at: int) -> StringFault:
    if at >= len(text) or text[at] in "\r\n":
        return StringFault("unterminated string", start, at, at, 'close it with `"`')
    rest = text.find('"', at + 2)
    line_end = _LINE_REST.match(text, at).end()  # type: ignore[union-attr]  # it also matches the empty string
    resume = rest + 1 if 0 <= rest < line_end else line_end
    if text[at] == "\\":
        return StringFault(
            f"invalid escape `{text[at : at + 2].strip()}`", at, min(at + 2, line_end), resume,
            r"use \" \\ \/ \b \f \n \r \t or \u with four hexadecimal digits; write a backslash as `\\`",
        )  # fmt: skip
    return StringFault(
        f"control character U+{ord(text[at]):04X} in a string", at, at + 1, resume,
        r"write it as an escape (`\t`, `\u0000`)",
    )  # fmt: skip
