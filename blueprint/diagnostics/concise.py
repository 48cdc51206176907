"""Findings one line each, as compilers print them: `file:line:column: severity[code]: headline`."""

from __future__ import annotations

from blueprint.diagnostics.model import Diagnostic
from blueprint.diagnostics.report import Report, summary
from blueprint.diagnostics.text import shown


def render_concise(report: Report, *, color: bool = False, width: int = 80) -> str:
    """One line per finding and one for the summary; lines are never broken, so that tools can read them."""
    lines = [concise_line(diagnostic, report.blueprint) for diagnostic in report.diagnostics]
    return "\n".join([*lines, summary(report)]) + "\n"


def concise_line(diagnostic: Diagnostic, blueprint: str) -> str:
    """A finding as one line, without its end; one without a place is of the blueprint."""
    place = blueprint
    if diagnostic.primary is not None:
        span = diagnostic.primary.span
        place = f"{span.file}:{span.line}:{span.column}"
    return shown(f"{place}: {diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.headline}")
