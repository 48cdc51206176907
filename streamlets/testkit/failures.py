"""Errors of a test: the streamlet cannot run, or a query failed."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.diagnostics import Diagnostic


class TestkitError(Exception):
    """The streamlet or application under test cannot run as requested; the message has all findings."""

    __test__ = False  # pytest collects classes with this prefix


class StepFailedError(Exception):
    """A query failed in a step; the message has the reason, `__cause__` is Spark's exception.

    Arguments:
        query: the name of the query, `<streamlet>.<query>`.
        reason: the reason in one line.
        frames: the frames of the author's code, outermost first.
    """

    def __init__(self, query: str, reason: str, frames: tuple[str, ...] = ()) -> None:
        self.query = query
        self.reason = reason
        self.frames = frames
        super().__init__("".join((f"the query `{query}` failed: {reason}", *(f"\n  at {frame}" for frame in frames))))


def error_with_findings(message: str, problems: Iterable[Diagnostic]) -> TestkitError:
    """Return an error whose message has the findings."""
    lines = [message]
    for problem in problems:
        at = problem.primary.span if problem.primary else None
        place = f" ({at.file}, line {at.line})" if at else ""
        lines.append(f"  {problem.headline}{place}")
        lines += [f"    {text}" for text in (*problem.causes, *problem.help)]
    return TestkitError("\n".join(lines))
