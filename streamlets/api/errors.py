"""`StreamletError`: misuse of the API by an author's code, with the location of the call."""

from __future__ import annotations

from blueprint.diagnostics import Span
from streamlets.api.source_location import SourceLocation, author_location


class StreamletError(Exception):
    """The author's code uses the API in an invalid way; no restart can fix it.

    Arguments:
        message: one sentence: what is wrong, then a colon and what to do.
        place: the location in the author's code; default: the location of the innermost call.
        code: the code of the finding that verification reports.
        also: a related location and its label.

    Example:
        In a logic, about something that the author has to change::

            raise StreamletError("the file of stations is empty: write at least one station")
    """

    def __init__(
        self,
        message: str,
        place: SourceLocation | None = None,
        *,
        code: str = "logic-misuse",
        also: tuple[SourceLocation, str] | None = None,
    ) -> None:
        self.message = message
        self.code = code
        self.also = also
        self.place = place or author_location()
        super().__init__(f"{message}\n  at {_words(self.place.span)}" if self.place else message)


def _words(span: Span) -> str:
    """Return a place in words. A line of Python has one call; one of statements may have several."""
    line = f"{span.file}, line {span.line}"
    return line if span.file.endswith(".py") else f"{line}, column {span.column}"
