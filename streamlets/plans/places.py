"""Where in a project's own files the running code, or a failure, stands."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from blueprint.diagnostics import Span
from streamlets.api.declared import Declared, caller_at, position
from streamlets.project.modules import Project


def span_of(place: Declared | None) -> Span | None:
    """A place as findings have it."""
    return place.span if place is not None else None


class Places:
    """Tells the project's own frames from all others: the framework's, libraries', a test's."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, bool] = {}

    def owns(self, file: str) -> bool:
        """Whether a file is one of the project's own."""
        if file not in self._known:
            self._known[file] = not file.startswith("<") and self._project.owns(file)
        return self._known[file]

    def own(self, place: Declared | None) -> Declared | None:
        """The place, when it is in the project."""
        return place if place is not None and self.owns(place.file) else None

    def here(self) -> Declared | None:
        """Where the innermost running frame of the project stands."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's columns
        while frame is not None and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        return caller_at(frame) if frame is not None else None

    def of(self, error: BaseException) -> tuple[Declared, ...]:
        """The project's frames in a failure, outermost first."""
        found: list[Declared] = []
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if self.owns(code.co_filename):
                found.append(position(code, trace.tb_lasti, trace.tb_lineno))
            trace = trace.tb_next
        return tuple(found)
