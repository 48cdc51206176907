"""String literals and quoted names of Spark SQL: their values, and how a value is written.

Source: Spark's grammar (`STRING_LITERAL` and `BACKQUOTED_IDENTIFIER` in `SqlBaseLexer.g4`), and
`SparkParserUtils.unescapeSQLString`.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|(.))|''|\"\"", re.DOTALL)
_CHARACTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_MAX_CHARACTER = 0x10FFFF

RESERVED = frozenset(("FROM", "IDENTIFIED", "OPTIONS", "OUTPUT", "PARTITIONED", "TO", "TRIGGER"))
"""The keywords that may follow a name, so that they are names only in back-quotes."""


def string_value(inner: str, quote: str) -> str:
    """Return the value of a string literal.

    Arguments:
        inner: the characters between its quotes.
        quote: `'` or `"`; two of them inside the literal are one.
    """

    def character(match: re.Match[str]) -> str:
        four, eight, octal, other = match.groups()
        if four or eight:
            number = int(four or eight, 16)
            return chr(number) if number <= _MAX_CHARACTER else match[0]
        if octal:
            return chr(int(octal, 8))
        if other is not None:
            return _CHARACTERS.get(other, other)
        return quote if match[0][0] == quote else match[0]

    return _ESCAPE.sub(character, inner) if "\\" in inner or quote in inner else inner


def string_literal(value: str) -> str:
    """Return a string literal in single quotes with this value."""
    return f"'{escaped(value, chr(39))}'"


def escaped(value: str, quote: str) -> str:
    """Return a value as it is written between quotes.

    Arguments:
        value: the value.
        quote: the quotes around it.
    """
    if quote == "`":
        return value.replace("`", "``")
    # `\%` and `\_` are patterns whose backslash Spark keeps, so they are written as they are.
    text = re.sub(r"\\(?![%_])", r"\\\\", value).replace(quote, f"\\{quote}")
    return text.replace("${", "$\\{").replace("\0", "\\0").replace("\x1a", "\\Z")


def name_text(name: str) -> str:
    """Return a name as it is written: in back-quotes unless it is a word, and not a reserved one."""
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED
    return name if plain else f"`{escaped(name, '`')}`"
