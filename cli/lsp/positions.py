"""Conversion between places in findings and positions of the Language Server Protocol.

Places count lines and Unicode characters from 1, positions count lines and UTF-16 code units from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from blueprint.diagnostics import Span

Line = Callable[[int], str | None]
"""Returns a line of a text by its number, from 1, without its line end."""


@dataclass(frozen=True, slots=True)
class Place:
    """A character of a file: the file's absolute path, the line and the column, both from 1."""

    file: Path
    line: int
    column: int

    def within(self, span: Span) -> bool:
        """Return whether the place is in a span, or directly after it, where the cursor is after typing."""
        begin, end = (span.line, span.column), (span.end_line, span.end_column)
        return begin <= (self.line, self.column) <= end and Path(span.file).absolute() == self.file


def column_of(line: str, character: int) -> int:
    """Return the column of a character that is counted in UTF-16 code units.

    Arguments:
        line: the text of the line.
        character: the number of code units before it; more than the line has means its end.
    """
    if line.isascii():
        return min(character, len(line)) + 1
    units = 0
    for index, letter in enumerate(line):
        if units >= character:
            return index + 1
        units += 2 if ord(letter) > 0xFFFF else 1
    return len(line) + 1


def character_of(line: str, column: int) -> int:
    """Return the number of UTF-16 code units before a column."""
    before = line[: column - 1]
    return len(before) if before.isascii() else len(before.encode("utf-16-le")) // 2


def range_of(span: Span, line: Line) -> types.Range:
    """Return the range of a span in a text."""
    start = types.Position(span.line - 1, character_of(line(span.line) or "", span.column))
    end = types.Position(span.end_line - 1, character_of(line(span.end_line) or "", span.end_column))
    return types.Range(start, end)


def is_file(span: Span) -> bool:
    """Return whether a span is in a file, and not in generated text."""
    return not span.file.startswith("<")


def uri_of(span: Span) -> str:
    """Return the URI of the file of a span."""
    return Path(span.file).absolute().as_uri()
