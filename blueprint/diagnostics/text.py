"""Text on a terminal's grid: how wide characters are, how long lines are cut and sentences broken."""

from __future__ import annotations

import unicodedata

TAB = "    "
_JOINERS = "\u200c\u200d"


def cells(text: str) -> int:
    """How many columns of a terminal `text` takes (wide characters two, combining ones none)."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # the range holds what joins a Korean syllable that has begun
    return 1


def shown(text: str) -> str:
    """`text` as it can be printed: tabs as blanks, and a replacement mark for what a terminal would obey or not show.

    That is control characters, and characters that turn the direction of writing or take no room, but for the two
    joiners, which belong to their neighbours: what is invisible in a source is most often what is wrong with it.
    """
    if text.isprintable():
        return text
    return "".join(_printable(character) for character in text)


def _printable(character: str) -> str:
    if character == "\t":
        return TAB
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS
    return "\ufffd" if hidden else character


def wrapped(text: str, width: int) -> list[str]:
    """`text` broken between words into lines of at most `width` columns; longer words are cut."""
    width = max(width, 8)
    lines: list[str] = []
    line = ""
    for word in shown(text).split(" "):
        while cells(word) > width:
            if line:
                lines.append(line)
                line = ""
            head = _head(word, width)
            lines.append(head)
            word = word[len(head) :]
        if line and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line or not lines else lines


def _head(word: str, width: int) -> str:
    used = 0
    for index, character in enumerate(word):
        used += _cell(character)
        if used > width:
            return word[: max(index, 1)]
    return word


def window(width: int, total: int, start: int, end: int) -> tuple[int, int]:
    """Which columns of a line of `total` columns to show in `width`, so that `start` to `end` is among them.

    Gives the first column and the one behind the last; the beginning of the span wins when not all of it fits.
    """
    if total <= width:
        return 0, total
    room = max(width - (end - start), 0)
    first = max(0, min(start - min(room // 2, start), total - width))
    if end - start >= width:
        first = min(max(start - 4, 0), total - width)
    return first, first + width
