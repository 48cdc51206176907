"""Findings as annotations of GitHub Actions: workflow commands, which GitHub shows next to changed lines.

Source: GitHub's documentation of workflow commands ("Setting an error message") and the escaping of its own toolkit.
"""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics.model import Diagnostic, Severity, Sources, Span
from blueprint.diagnostics.report import Report, summary

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_github(report: Report, *, color: bool = False, width: int = 80) -> str:
    """Return one workflow command per finding and a line for the summary.

    Arguments:
        report: the findings.
        color: ignored.
        width: ignored.
    """
    commands = [_command(diagnostic, report.sources) for diagnostic in report.diagnostics]
    return "\n".join([*commands, summary(report)]) + "\n"


def _command(diagnostic: Diagnostic, sources: Sources) -> str:
    span = diagnostic.primary.span if diagnostic.primary else None
    properties = {**(_place(span, sources) if span else {}), "title": diagnostic.code}
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_text(_message(diagnostic))}"


def _place(span: Span, sources: Sources) -> dict[str, str]:
    """Return a place as properties of a workflow command.

    The path is absolute: GitHub makes it relative to the repository, whatever the working directory of the command was.
    GitHub accepts columns only for places on a single line.
    """
    if span.file.startswith("<"):  # not a file that could be annotated; the message names the place
        return {}
    lines = {"file": sources.path(span.file), "line": str(span.line), "endLine": str(span.end_line)}
    if span.line != span.end_line:
        return lines
    return {**lines, "col": str(span.column), "endColumn": str(span.end_column)}


def _message(diagnostic: Diagnostic) -> str:
    return "\n".join(_lines(diagnostic))


def _lines(diagnostic: Diagnostic) -> Iterator[str]:
    """Yield the headline, then the parts of a finding for which an annotation has no property."""
    yield diagnostic.headline
    if diagnostic.primary is not None and diagnostic.primary.span.file.startswith("<"):
        yield f"at {_shown(diagnostic.primary.span)}"
    if diagnostic.primary is not None and diagnostic.primary.message:
        yield f"here: {diagnostic.primary.message}"
    yield from (f"{_shown(label.span)}: {label.message}" for label in diagnostic.secondary if label.message)
    yield from (f"raised in {frame.function}, {_shown(frame.span)}" for frame in diagnostic.frames)
    yield from (f"because: {cause}" for cause in diagnostic.causes)
    yield from (f"help: {help}" for help in diagnostic.help)


def _shown(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


def _text(text: str) -> str:
    """Escape the characters that would end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    """Escape also the characters that would end a property."""
    return _text(value).replace(":", "%3A").replace(",", "%2C")
