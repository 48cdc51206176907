"""A configuration text with its name, which turns offsets into spans."""

from __future__ import annotations

import re
from bisect import bisect_right

from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding

MAX_DEPTH = 64
"""The maximum nesting of objects and lists in a configuration: far beyond real files, well within Python's stack."""

_LINE_END = re.compile("\n")


class Source:
    """A configuration text under the name that its spans carry.

    Arguments:
        file: the name, as in `Span.file`.
        text: the text without a byte order mark. Only `\\n` ends a line.
    """

    __slots__ = ("_starts", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column of an offset."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span between two offsets (in characters, from 0, the end exclusive)."""
        starts = self._starts
        line = bisect_right(starts, start)
        if end < (starts[line] if line < len(starts) else len(self.text) + 1):
            base = starts[line - 1] - 1
            return Span(self.file, line, start - base, line, end - base)
        end_line = bisect_right(starts, end)
        return Span(self.file, line, start - starts[line - 1] + 1, end_line, end - starts[end_line - 1] + 1)


def too_deep(source: Source, at: int, limit: int = MAX_DEPTH) -> Diagnostic:
    """Return the finding for a value at offset `at` that is nested more than `limit` levels deep."""
    return finding(
        "too-deep", f"values are nested more than {limit} levels deep", source.span(at, at + 1),
        help=["check whether the file is damaged or generated; the rest of it was not read"],
    )  # fmt: skip
