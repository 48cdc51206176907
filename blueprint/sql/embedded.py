"""The text of statements in a configuration value, so that places in the statements are places in its file."""

from __future__ import annotations

from blueprint.diagnostics import Span
from blueprint.hocon.source import Source
from blueprint.hocon.text_place import TextPlace
from blueprint.hocon.values import Scalar


class EmbeddedSource(Source):
    """The text of a value.

    Arguments:
        value: the whole text of a job file, or a string of a blueprint.
    """

    __slots__ = ("_place",)

    def __init__(self, value: Scalar) -> None:
        self._place = TextPlace.of(value)
        super().__init__(self._place.span.file, value.text)

    def span(self, start: int, end: int) -> Span:
        """Return the place between two offsets; the whole value's if its text has escapes."""
        return self._place.in_file(super().span(start, end))
