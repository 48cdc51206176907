"""Locations in the author's Python files: file, line and columns, determined without reading any file."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from blueprint.diagnostics import Span

_OURS = ("blueprint", "cli", "streamlets")
_INSTALLED = tuple(sysconfig.get_paths()[kind] + os.sep for kind in ("stdlib", "purelib", "platlib", "scripts"))


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A location as in Python's code objects: lines start at 1, columns at 0 and count bytes of UTF-8; characters in
    files with statements."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def of(cls, span: Span) -> SourceLocation:
        """Return the location of a place in statements."""
        return cls(span.file, span.line, span.column - 1, span.end_line, span.end_column - 1)

    @property
    def span(self) -> Span:
        """The location in characters. It reads a file of Python: use it to report something, not in a declaration."""
        return Span(
            display_path(self.file),
            self.line,
            self._characters(self.line, self.column),
            self.end_line,
            self._characters(self.end_line, self.end_column),
        )

    def _characters(self, line: int, column: int) -> int:
        text = linecache.getline(self.file, line).encode() if self.file.endswith(".py") else b""
        return len(text[:column].decode(errors="replace")) + 1 if text else column + 1


UNKNOWN = SourceLocation("<unknown>", 1, 0, 1, 0)
_LOCATED: ContextVar[SourceLocation | None] = ContextVar("located", default=None)


def parameter_file(key: str) -> str:
    """Return the name that stands for a file in locations inside the text of a config parameter."""
    return f"<parameter {key}>"


def parameter_of(file: str) -> str | None:
    """Return the key of the config parameter whose text a location is in; None for a location in a file."""
    return file.removeprefix("<parameter ").removesuffix(">") if file.startswith("<parameter ") else None


def display_path(file: str) -> str:
    """Return a path for messages: relative to the working directory if the file is below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def instruction_location(code: CodeType, instruction: int, line: int) -> SourceLocation:
    """Return the location of an instruction, without columns if the interpreter stores none (`-X no_debug_ranges`).

    Arguments:
        code: the code object.
        instruction: the offset of the instruction in bytes.
        line: the number of the line if the code object has no positions.
    """
    positions = islice(code.co_positions(), instruction // 2, None)
    start, end, column, end_column = next(positions, (None, None, None, None))
    return SourceLocation(code.co_filename, start or line, column or 0, end or line, end_column or 0)


def constructor_location(instance: object) -> SourceLocation:
    """Return the location of the running constructor call; for use in `__init__` methods, also of base classes."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's columns
    while frame is not None and _is_constructing(frame, instance):
        frame = frame.f_back
    return frame_location(frame)


@contextmanager
def located(place: SourceLocation | None) -> Iterator[None]:
    """Make a place the author's location in the context, for text of the author that is not Python, such as SQL.

    Arguments:
        place: the place; None keeps the location that is found in the frames.
    """
    token = _LOCATED.set(place)
    try:
        yield
    finally:
        _LOCATED.reset(token)


def located_place() -> SourceLocation | None:
    """Return the place that `located` has set; None outside of such a context."""
    return _LOCATED.get()


def author_location() -> SourceLocation | None:
    """Return the location of the innermost frame of the author's code; None if the call comes from other code only."""
    if (place := located_place()) is not None:
        return place
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - as above
    while frame is not None and not _is_author_code(frame):
        frame = frame.f_back
    return frame_location(frame) if frame is not None else None


def frame_location(frame: FrameType | None) -> SourceLocation:
    """Return the current location of a frame; `UNKNOWN` without one."""
    if frame is None:
        return UNKNOWN
    return instruction_location(frame.f_code, frame.f_lasti, frame.f_lineno)


def _is_author_code(frame: FrameType) -> bool:
    package = (frame.f_globals.get("__name__") or "").partition(".")[0]
    file = frame.f_code.co_filename
    if package in _OURS or file.startswith("<frozen"):
        return False
    return not any(file.startswith(directory) for directory in _INSTALLED)


def _is_constructing(frame: FrameType, instance: object) -> bool:
    code = frame.f_code
    return code.co_name == "__init__" and code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is instance
