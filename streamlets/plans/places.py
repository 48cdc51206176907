"""Locations of running code and of errors in the files of a project."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from blueprint.diagnostics import Span
from streamlets.api.source_location import (
    SourceLocation,
    frame_location,
    instruction_location,
    located_place,
    parameter_of,
)
from streamlets.project.modules import Project


def span_of(place: SourceLocation | None) -> Span | None:
    """Return the span of a location, for findings."""
    return place.span if place is not None else None


class Places:
    """Distinguishes the project's own frames from frames of the framework, libraries and tests."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, bool] = {}

    def owns(self, file: str) -> bool:
        """Return whether a file belongs to the project."""
        if file not in self._known:
            python = not file.startswith("<") and self._project.owns(file)
            self._known[file] = python or parameter_of(file) is not None
        return self._known[file]

    def own(self, place: SourceLocation | None) -> SourceLocation | None:
        """Return a location if it is in the project."""
        return place if place is not None and self.owns(place.file) else None

    def here(self) -> SourceLocation | None:
        """Return the location of the innermost running frame of the project, or of the text that it executes."""
        if (place := located_place()) is not None:
            return place
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's columns
        while frame is not None and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        return frame_location(frame) if frame is not None else None

    def of(self, error: BaseException) -> tuple[SourceLocation, ...]:
        """Return the locations of an error's frames in the project, outermost first."""
        locations: list[SourceLocation] = []
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if self.owns(code.co_filename):
                locations.append(instruction_location(code, trace.tb_lasti, trace.tb_lineno))
            trace = trace.tb_next
        return tuple(locations)
