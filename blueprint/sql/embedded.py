"""The text of statements in a configuration value, so that places in the statements are places in its file."""

from __future__ import annotations

from blueprint.diagnostics import Span
from blueprint.hocon.source import Source
from blueprint.hocon.values import Scalar, span_of


class EmbeddedSource(Source):
    """The text of a value.

    Arguments:
        value: the whole text of a job file, or a string of a blueprint.
    """

    __slots__ = ("_column", "_line", "_span")

    def __init__(self, value: Scalar) -> None:
        self._span = span_of(value)
        super().__init__(self._span.file, value.text)
        quotes = _quotes(value, self._span)
        self._line = self._span.line
        self._column = None if quotes is None else self._span.column + quotes

    def span(self, start: int, end: int) -> Span:
        """Return the place between two offsets; the whole value's if its text has escapes."""
        return self.in_file(super().span(start, end))

    def in_file(self, inner: Span) -> Span:
        """Return a place in the text as a place in the file; the whole value's if its text has escapes."""
        if self._column is None:
            return self._span
        return Span(
            self._span.file,
            inner.line + self._line - 1,
            inner.column + (self._column - 1 if inner.line == 1 else 0),
            inner.end_line + self._line - 1,
            inner.end_column + (self._column - 1 if inner.end_line == 1 else 0),
        )


def _quotes(value: Scalar, span: Span) -> int | None:
    """Return the number of quotes before a text; None if it is not written in the file as it is."""
    if span.end_line - span.line != value.text.count("\n"):
        return None
    if not value.quoted:
        return 0
    if span.end_line > span.line:
        return len('"""')
    quotes = span.end_column - span.column - len(value.text)
    return quotes // 2 if quotes in (2, 6) else None
