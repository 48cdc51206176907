"""The words of HOCON: blank space, comments, unquoted text, numbers, quoted and triple-quoted strings.

The grammar needs no separate pass over the text: the parser asks for the word it expects at an offset, and each is one
regular expression. Source: the HOCON specification, "Syntax".

In each expression, what may follow a repetition cannot begin with what it repeats. So there is only one way to match a
string, and a failure takes linear time without possessive quantifiers and atomic groups, which Python before 3.11.5
matches wrongly (gh-100061, gh-106052).
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
"""Space within a line."""

skip = re.compile(_SKIP)
"""Space, line ends and comments."""

tail = re.compile(rf"[{_BLANKS}]*(?:{_COMMENT})?")
"""Space and a comment up to the end of the line."""

unquoted = re.compile(_WORD)
"""Unquoted text; it begins where a value or a part of a key may begin."""

number = re.compile(rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?")
"""A number of JSON."""

signed_exponent = re.compile(rf"{_DECIMAL}[eE]\+[0-9]+(?![0-9eE.+\-])")
"""The one kind of number that unquoted text cannot hold, for its `+`; what a number may hold does not follow it."""

plain_value = re.compile(rf"({_WORD}(?:[{_BLANKS}]+{_WORD})*)[{_BLANKS}]*(?=[\n,}}\]\#]|//|\Z)")
"""A value of unquoted words only, up to what ends it: most values are this."""

string_value = re.compile(rf'"([^"\\\x00-\x1f]*)"(?!")(?=[{_BLANKS}]*(?:[\n,}}\]\#]|//|\Z))')
"""A value that is one quoted string without escapes."""

plain_key = re.compile(rf"((?!include(?![A-Za-z0-9_\-.])){_KEY}(?:\.{_KEY})*)[{_BLANKS}]*([=:{{])")
"""A key of plain words and what follows it: most keys are this."""

include = re.compile(rf'include(?=[{_BLANKS}\n"#=:{{+]|//|\Z)')
"""The word `include` where a key begins."""

resource = re.compile(rf'(?:(required)\({_SKIP})?(?:(file|url|classpath)\({_SKIP})?(?=")')
"""What stands between `include` and the quoted name."""

substitution = re.compile(r"\$\{(\?)?")
"""The beginning of a substitution."""

until_resumable = re.compile(rf'"""[\s\S]*?"""(?!")|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|{_COMMENT}|[{{}}\[\],\n]')
"""What matters when looking for a place to go on behind an error."""

_TRIPLE = re.compile(r'"""([\s\S]*?)"""(?!")')
_MAX_DIGITS = 1000
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def quoted(text: str, at: int) -> tuple[str, int] | StringFault:
    """The quoted or triple-quoted string at `at` and the offset behind it, or what is wrong with it."""
    if not text.startswith('"""', at):
        return read_string(text, at)
    found = _TRIPLE.match(text, at)
    if found is None:
        return StringFault('the `"""` is never closed', at, at + 3, len(text), 'close it with `"""`')
    return found[1], found.end()


def meaning(text: str) -> str | int | float | bool | None:
    """What unquoted text stands for: a number of JSON, `true`, `false`, `null`, else itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-0123456789" and len(text) <= _MAX_DIGITS and number.fullmatch(text):
        return int(text) if text.lstrip("-").isdigit() else float(text)
    return text
