"""A text and its name: turns offsets into spans."""

from __future__ import annotations

import re
from bisect import bisect_right

from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding

MAX_DEPTH = 64
"""How deeply objects and lists of a configuration may nest: far beyond real files, well within Python's stack."""

_LINE_END = re.compile("\n")


class Source:
    """A configuration text under the name that its spans carry.

    Arguments:
        file: as in `Span.file`.
        text: the text without a byte order mark; only `\\n` ends a line.
    """

    __slots__ = ("_starts", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def span(self, start: int, end: int) -> Span:
        """The stretch between two offsets (in characters, from 0, the end exclusive)."""
        starts = self._starts
        line = bisect_right(starts, start)
        if end < (starts[line] if line < len(starts) else len(self.text) + 1):
            base = starts[line - 1] - 1
            return Span(self.file, line, start - base, line, end - base)
        end_line = bisect_right(starts, end)
        return Span(self.file, line, start - starts[line - 1] + 1, end_line, end - starts[end_line - 1] + 1)


def too_deep(source: Source, at: int, most: int = MAX_DEPTH) -> Diagnostic:
    """The finding for a value at offset `at` that nests deeper than `most`."""
    return finding(
        "too-deep", f"values nest more than {most} deep", source.span(at, at + 1),
        help=["this looks like a broken or generated file; the rest of it was not read"],
    )  # fmt: skip
