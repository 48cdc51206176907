"""Where in the author's Python files a declaration stands: file, line and columns, without reading any file."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from blueprint.diagnostics import Span

_OURS = ("blueprint", "cli", "streamlets")
_INSTALLED = tuple(sysconfig.get_paths()[kind] + os.sep for kind in ("stdlib", "purelib", "platlib", "scripts"))


@dataclass(frozen=True, slots=True)
class Declared:
    """A place as Python's code objects know it: lines from 1, columns from 0 in bytes of UTF-8."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def span(self) -> Span:
        """As a span of characters; reads the file's lines, so ask for it when reporting, not when declaring."""
        return Span(
            shown(self.file),
            self.line,
            self._characters(self.line, self.column),
            self.end_line,
            self._characters(self.end_line, self.end_column),
        )

    def _characters(self, line: int, column: int) -> int:
        text = linecache.getline(self.file, line).encode()
        return len(text[:column].decode(errors="replace")) + 1 if text else column + 1


UNKNOWN = Declared("<unknown>", 1, 0, 1, 0)


def shown(file: str) -> str:
    """A file as the user would name it: relative to the working directory when it lies below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def position(code: CodeType, instruction: int, line: int) -> Declared:
    """The place of one instruction; a whole line where the interpreter keeps no columns (`-X no_debug_ranges`)."""
    found = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    start, end, column, end_column = found
    return Declared(code.co_filename, start or line, column or 0, end or line, end_column or 0)


def declaration_of(made: object) -> Declared:
    """Where the call stands that is making `made`; for use in `__init__` methods, also through subclasses' ones."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's columns
    while frame is not None and _is_constructing(frame, made):
        frame = frame.f_back
    return caller_at(frame)


def authors_call() -> Declared | None:
    """Where the innermost frame stands that is the author's; None when only this project and libraries are calling."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - as above
    while frame is not None and not _is_authors(frame):
        frame = frame.f_back
    return caller_at(frame) if frame is not None else None


def caller_at(frame: FrameType | None) -> Declared:
    """Where `frame` stands."""
    if frame is None:
        return UNKNOWN
    return position(frame.f_code, frame.f_lasti, frame.f_lineno)


def _is_authors(frame: FrameType) -> bool:
    package = (frame.f_globals.get("__name__") or "").partition(".")[0]
    file = frame.f_code.co_filename
    if package in _OURS or file.startswith("<frozen"):
        return False
    return not any(file.startswith(folder) for folder in _INSTALLED)


def _is_constructing(frame: FrameType, made: object) -> bool:
    code = frame.f_code
    return code.co_name == "__init__" and code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is made
