"""What is written at a place of a HOCON text, which need not be complete: a key, a value or an item of a list."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

_TOKEN = re.compile(
    r'''(?P<quoted>"""[\s\S]*?(?:"""(?!")|\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)
    |(?P<comment>(?:\#|//)[^\n]*)
    |(?P<end>[\n,])
    |(?P<open>[{\[])
    |(?P<close>[}\]])
    |(?P<separator>\+=|[=:])
    |(?P<word>\$\{[^}\n]*\}?|(?:[^\s"{}\[\]:=,+\#$/]+|/(?!/))+|\S)''',
    re.VERBOSE,
)


_REST = re.compile(r"[^\n,}\]]*")
"""The rest of a statement."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a user is writing.

    Arguments:
        kind: a key of an object, the value of a key, or an item of a list.
        path: for a key, the keys of the object; else the keys of the value or list.
        typed: the part that is already written: of a key, the part after the last dot; of a string with names that are
            separated by commas, the part after the last comma.
    """

    kind: Literal["key", "value", "item"]
    path: tuple[str, ...]
    typed: str


@dataclass(slots=True)
class _Bracket:
    """An open bracket, and what was read since the last comma or line end in it."""

    path: tuple[str, ...]
    is_list: bool
    keys: list[str] = field(default_factory=list)
    in_value: bool = False
    begin: int | None = None  # of the text of the current key, value or item
    statement: int | None = None  # the begin of the current key or item
    in_comment: bool = False  # at the end of the text that was read

    def clear(self) -> None:
        self.keys, self.in_value, self.begin, self.statement = [], False, None, None

    @property
    def inner_path(self) -> tuple[str, ...]:
        return self.path if self.is_list else (*self.path, *self.keys)


def cursor_at(text: str, offset: int) -> Cursor | None:
    """Return the cursor at an offset; None in a comment.

    Arguments:
        text: HOCON or JSON text.
        offset: the number of characters before the cursor.
    """
    brackets = _open_brackets(text, offset)
    if brackets[-1].in_comment:
        return None
    return _cursor(brackets[-1], text, offset)


def without_statement(text: str, offset: int) -> str:
    """Return a text without the key, value or item that is being written, and with its open brackets closed.

    Arguments:
        text: HOCON or JSON text.
        offset: the number of characters before the cursor.
    """
    begin, rest = _open_brackets(text, offset)[-1].statement, _REST.match(text, offset)
    remaining = text[: offset if begin is None else begin] + text[rest.end() if rest is not None else offset :]
    closing = ("]" if bracket.is_list else "}" for bracket in reversed(_open_brackets(remaining, len(remaining))[1:]))
    return "\n".join((remaining, *closing))


def _open_brackets(text: str, offset: int) -> list[_Bracket]:
    """Return the brackets that are open at an offset, the text itself first."""
    brackets = [_Bracket((), is_list=False)]
    for match in _TOKEN.finditer(text, 0, offset):
        kind = match.lastgroup
        top = brackets[-1]
        if kind == "open":
            brackets.append(_Bracket(top.inner_path, match[0] == "["))
        elif kind == "close":
            if len(brackets) > 1:
                brackets.pop()
            brackets[-1].in_value = not brackets[-1].is_list
        elif kind == "end":
            top.clear()
        elif kind == "comment":
            top.in_comment = match.end() == offset
        elif kind == "separator" and not top.is_list and not top.in_value:
            top.in_value, top.begin = True, None
        elif kind in ("word", "quoted"):
            top.begin = match.start() if top.begin is None else top.begin
            top.statement = match.start() if top.statement is None else top.statement
            if not top.is_list and not top.in_value:
                top.keys += [match[0].strip('"')] if kind == "quoted" else match[0].split(".")
    return brackets


def _cursor(top: _Bracket, text: str, offset: int) -> Cursor:
    typed = text[top.begin : offset].lstrip('"') if top.begin is not None else ""
    if "," in typed:
        typed = typed[typed.rindex(",") + 1 :].lstrip()
    if top.is_list:
        return Cursor("item", top.path, typed)
    if top.in_value:
        return Cursor("value", (*top.path, *top.keys), typed)
    keys = [key for key in top.keys[:-1] if key]
    return Cursor("key", (*top.path, *keys), top.keys[-1] if top.keys else "")
