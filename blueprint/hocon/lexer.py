"""The tokens of HOCON: white space, comments, unquoted text, numbers, quoted and triple-quoted strings.

The grammar needs no separate pass over the text: each token is one regular expression, which the parser matches at the
offset where it expects the token. Source: the HOCON specification, "Syntax".

In each expression, the part after a repetition cannot begin with a repeated character. A string can therefore be
matched in only one way, and a failure takes linear time. Possessive quantifiers and atomic groups would do the same,
but Python before 3.11.5 matches them wrongly (gh-100061, gh-106052).
"""

from __future__ import annotations

import re

from blueprint.hocon.strings import StringFault, read_string

_BLANKS = " \t\v\f\r\x1c-\x1f\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_LETTER = rf'[^$"{{}}\[\]:=,+#`^?!@*&\\/{_BLANKS}\n]'
_WORD = rf"(?:{_LETTER}+|/(?!/){_LETTER}*)(?:/(?!/){_LETTER}*)*"
_COMMENT = r"(?:\#|//)[^\n]*"
_SKIP = rf"[{_BLANKS}\n]*(?:{_COMMENT}(?:\n[{_BLANKS}\n]*|\Z))*"
_KEY = r"[A-Za-z0-9_\-]+"
_DECIMAL = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"

blank = re.compile(rf"[{_BLANKS}]*")
"""White space within a line."""

skip = re.compile(_SKIP)
"""White space, line ends and comments."""

tail = re.compile(rf"[{_BLANKS}]*(?:{_COMMENT})?")
"""White space and a comment up to the end of the line."""

unquoted = re.compile(_WORD)
"""Unquoted text, matched where a value or a part of a key may begin."""

number = re.compile(rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?")
"""A JSON number."""

signed_exponent = re.compile(rf"{_DECIMAL}[eE]\+[0-9]+(?![0-9eE.+\-])")
"""A number with `e+`, the only one that is not unquoted text, because of its `+`. No character of a number follows."""

plain_value = re.compile(rf"({_WORD}(?:[{_BLANKS}]+{_WORD})*)[{_BLANKS}]*(?=[\n,}}\]\#]|//|\Z)")
"""A value of unquoted words only, up to its end: the most frequent kind."""

string_value = re.compile(rf'"([^"\\\x00-\x1f]*)"(?!")(?=[{_BLANKS}]*(?:[\n,}}\]\#]|//|\Z))')
"""A value that is one quoted string without escapes."""

plain_key = re.compile(rf"((?!include(?![A-Za-z0-9_\-.])){_KEY}(?:\.{_KEY})*)[{_BLANKS}]*([=:{{])")
"""A key of plain words and its separator: the most frequent kind."""

include = re.compile(rf'include(?=[{_BLANKS}\n"#=:{{+]|//|\Z)')
"""The word `include` where a key begins."""

resource = re.compile(rf'(?:(required)\({_SKIP})?(?:(file|url|classpath)\({_SKIP})?(?=")')
"""The text between `include` and the quoted name."""

substitution = re.compile(r"\$\{(\?)?")
"""The beginning of a substitution."""

until_resumable = re.compile(rf'"""[\s\S]*?"""(?!")|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|{_COMMENT}|[{{}}\[\],\n]')
"""What is searched for to find the place after an error at which to continue."""

_TRIPLE = re.compile(r'"""([\s\S]*?)"""(?!")')
_MAX_DIGITS = 1000
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def quoted(text: str, at: int) -> tuple[str, int] | StringFault:
    """Return the quoted or triple-quoted string at `at` and the offset after it, or its fault."""
    if not text.startswith('"""', at):
        return read_string(text, at)
    match = _TRIPLE.match(text, at)
    if match is None:
        return StringFault('the `"""` is never closed', at, at + 3, len(text), 'close it with `"""`')
    return match[1], match.end()


def meaning(text: str) -> str | int | float | bool | None:
    """Return the value of unquoted text: a JSON number, `true`, `false`, `null`, otherwise the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-0123456789" and len(text) <= _MAX_DIGITS and number.fullmatch(text):
        return int(text) if text.lstrip("-").isdigit() else float(text)
    return text
