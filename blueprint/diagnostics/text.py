"""Text on a terminal: the width of characters, the wrapping of sentences and the cutting of long lines."""

from __future__ import annotations

import unicodedata

TAB = "    "
_JOINERS = "\u200c\u200d"


def cells(text: str) -> int:
    """Return the number of terminal columns of `text`: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # the range has the characters that continue a Korean syllable
    return 1


def shown(text: str) -> str:
    """Return `text` in printable form: tabs become spaces, other unprintable characters the replacement character.

    Unprintable are control characters and invisible ones, such as marks of the writing direction: they are often the
    fault in a source. The two zero-width joiners stay, because they belong to the characters next to them.
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
    """Wrap `text` between words into lines of at most `width` columns. Longer words are split."""
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
    """Choose the columns of a long line to display, so that a span is visible, or at least its beginning.

    Arguments:
        width: the number of columns to display.
        total: the number of columns of the line.
        start: the first column of the span.
        end: the column after the span.

    Returns:
        The first column to display and the one after the last.
    """
    if total <= width:
        return 0, total
    room = max(width - (end - start), 0)
    first = max(0, min(start - min(room // 2, start), total - width))
    if end - start >= width:
        first = min(max(start - 4, 0), total - width)
    return first, first + width
