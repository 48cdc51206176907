"""The author's own frames of a failure: what is shown of a traceback."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import TracebackType

from blueprint.diagnostics import Frame, Span
from streamlets.api.declared import position, shown

MOST = 12
"""Frames that are shown at most: a runaway recursion repeats itself after that."""


def own_frames(error: BaseException, owns: Callable[[str], bool]) -> tuple[Frame, ...]:
    """The frames of `error` in files that `owns` accepts, outermost first; the place of a syntax error comes last."""
    frames = tuple(_frames(error.__traceback__, owns))
    if isinstance(error, SyntaxError) and error.filename and owns(error.filename):
        line, column = error.lineno or 1, error.offset or 1
        end = (error.end_lineno or line, max(error.end_offset or 0, column + 1))
        frames += (Frame(Span(shown(error.filename), line, column, *end), "<module>"),)
    return frames if len(frames) <= MOST else (*frames[: MOST // 2], *frames[-MOST // 2 :])


def said(error: BaseException) -> str:
    """`Type: text` of an exception, on one line."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    lines = traceback.format_exception_only(error)
    return " ".join(lines[0].strip().split()) if lines else type(error).__name__


def _frames(trace: TracebackType | None, owns: Callable[[str], bool]) -> list[Frame]:
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if owns(code.co_filename):
            span = position(code, trace.tb_lasti, trace.tb_lineno).span
            found.append(Frame(span, code.co_qualname))
        trace = trace.tb_next
    return found
