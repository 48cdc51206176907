"""Findings in the form of a compiler's messages: headline, source excerpts, causes, help and the user's frames."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics.excerpt import Mark, excerpts, gutter_width
from blueprint.diagnostics.model import Diagnostic, Label, Sources
from blueprint.diagnostics.paint import Paint
from blueprint.diagnostics.report import Report, summary
from blueprint.diagnostics.text import shown, wrapped


def render_full(report: Report, *, color: bool = False, width: int = 80) -> str:
    """Return all findings and the summary as text.

    Arguments:
        report: the findings.
        color: whether to use ANSI colours.
        width: the columns of the terminal. Only paths and multi-line help may be wider.
    """
    blocks = ["\n".join(_finding(diagnostic, report.sources, color, width)) for diagnostic in report.diagnostics]
    return "\n\n".join([*blocks, "\n".join(wrapped(summary(report), width))]) + "\n"


def render_finding(diagnostic: Diagnostic, sources: Sources, *, color: bool = False, width: int = 80) -> str:
    """Return a single finding as text, for commands that report only one."""
    return "\n".join(_finding(diagnostic, sources, color, width)) + "\n"


def _finding(diagnostic: Diagnostic, sources: Sources, color: bool, width: int) -> Iterator[str]:
    paint = Paint(diagnostic.severity, color)
    tag = f"{diagnostic.severity.value}[{diagnostic.code}]:"
    first, *rest = wrapped(f"{tag} {diagnostic.headline}", width)
    if first.startswith(tag):
        yield paint.tag(tag) + paint.headline(first[len(tag) :])
    else:
        yield first
    yield from (paint.headline(line) for line in rest)
    marks = _marks(diagnostic)
    frames = [(Mark(Label(frame.span), index == len(diagnostic.frames) - 1), frame.function)
              for index, frame in enumerate(diagnostic.frames)]  # fmt: skip
    gutter = gutter_width([*marks, *(mark for mark, _ in frames)])
    indent = " " * gutter
    if marks:
        yield from excerpts(marks, sources, gutter=gutter, width=width, paint=paint)
    bar = f"{indent} {paint.frame('|')}"
    if frames:
        if marks:
            yield bar
        yield f"{indent} {paint.frame('=')} raised in your code (most recent call last):"
        for mark, function in frames:
            head, *lines = excerpts((mark,), sources, gutter=gutter, width=width, paint=paint)
            yield f"{head}, in {shown(function)}"
            yield from lines
    notes = [("because", cause) for cause in diagnostic.causes] + [("help", text) for text in diagnostic.help]
    if notes and (marks or frames):
        yield bar
    for word, text in notes:
        title = paint.helping(word) if word == "help" else paint.headline(word)
        start = f"{indent} {paint.frame('=')} {title}: "
        lead = gutter + 3 + len(word) + 2
        for index, line in enumerate(_lines(text, width - lead)):
            yield (start if index == 0 else " " * lead) + line


def _marks(diagnostic: Diagnostic) -> tuple[Mark, ...]:
    """Return the primary label and the secondary ones, without duplicates."""
    marks = [Mark(diagnostic.primary, True)] if diagnostic.primary else []
    marks += [Mark(label, False) for label in diagnostic.secondary]
    return tuple({(mark.label.span, mark.label.message): mark for mark in reversed(marks)}.values())[::-1]


def _lines(text: str, width: int) -> list[str]:
    """Wrap a sentence; a text of several lines keeps its lines."""
    return [shown(line) for line in text.split("\n")] if "\n" in text else wrapped(text, width)
