"""What a test is told when its streamlet cannot be run, or failed."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.diagnostics import Diagnostic


class TestkitError(Exception):
    """The streamlet or application under test cannot be run as it was asked for; the message holds every finding."""

    __test__ = False  # pytest takes classes called so for tests


class StepFailedError(Exception):
    """A query failed in a step; the message holds its reason, `__cause__` is Spark's exception.

    Arguments:
        query: `<streamlet>.<query>`.
        reason: in one line; frames: the author's own, outermost first.
    """

    def __init__(self, query: str, reason: str, frames: tuple[str, ...] = ()) -> None:
        self.query = query
        self.reason = reason
        self.frames = frames
        super().__init__("".join((f"the query `{query}` failed: {reason}", *(f"\n  at {frame}" for frame in frames))))


def refuse(message: str, problems: Iterable[Diagnostic]) -> TestkitError:
    """An error that says why, finding by finding."""
    lines = [message]
    for problem in problems:
        at = problem.primary.span if problem.primary else None
        place = f" ({at.file}, line {at.line})" if at else ""
        lines.append(f"  {problem.headline}{place}")
        lines += [f"    {text}" for text in (*problem.causes, *problem.help)]
    return TestkitError("\n".join(lines))
