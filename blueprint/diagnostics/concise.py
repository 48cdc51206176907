"""Findings one line each, as compilers print them: `file:line:column: severity[code]: headline`."""

from __future__ import annotations

from blueprint.diagnostics.model import Diagnostic
from blueprint.diagnostics.report import Report, summary
from blueprint.diagnostics.text import shown


def render_concise(report: Report, *, color: bool = False, width: int = 80) -> str:
    """Return one line per finding and one for the summary. Lines are never wrapped, so that tools can parse them.

    Arguments:
        report: the findings.
        color: ignored.
        width: ignored.
    """
    lines = [concise_line(diagnostic, report.blueprint) for diagnostic in report.diagnostics]
    return "\n".join([*lines, summary(report)]) + "\n"


def concise_line(diagnostic: Diagnostic, blueprint: str) -> str:
    """Return a finding as one line without a line end. A finding without a place is attributed to the blueprint."""
    place = blueprint
    if diagnostic.primary is not None:
        span = diagnostic.primary.span
        place = f"{span.file}:{span.line}:{span.column}"
    return shown(f"{place}: {diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.headline}")
