"""The place of a text in the file that configures it, for places inside of the text."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.diagnostics import Span
from blueprint.hocon.values import Scalar, span_of


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The place of a text.

    Arguments:
        span: the whole value.
        column: where the text begins in the first line of the value; None if it has escapes in the file, so that
            its columns are not those of the file.
    """

    span: Span
    column: int | None

    @classmethod
    def of(cls, value: Scalar) -> TextPlace:
        """Return the place of the text of a value."""
        span = span_of(value)
        quotes = _quotes(value, span)
        return cls(span, None if quotes is None else span.column + quotes)

    def in_file(self, inner: Span) -> Span:
        """Return a place in the text as a place in the file; the whole value's if its text has escapes."""
        if self.column is None:
            return self.span
        return Span(
            self.span.file,
            inner.line + self.span.line - 1,
            inner.column + (self.column - 1 if inner.line == 1 else 0),
            inner.end_line + self.span.line - 1,
            inner.end_column + (self.column - 1 if inner.end_line == 1 else 0),
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
