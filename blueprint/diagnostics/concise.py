"""Findings one line each, as compilers print them: `file:line:column: severity[code]: headline`."""

from __future__ import annotations

from blueprint.diagnostics.report import Report, summary
from blueprint.diagnostics.text import shown


def render_concise(report: Report, *, color: bool = False, width: int = 80) -> str:
    """One line per finding and one for the summary; lines are never broken, so that tools can read them."""
    lines = []
    for diagnostic in report.diagnostics:
        place = report.blueprint
        if diagnostic.primary is not None:
            span = diagnostic.primary.span
            place = f"{span.file}:{span.line}:{span.column}"
        lines.append(shown(f"{place}: {diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.headline}"))
    return "\n".join([*lines, summary(report)]) + "\n"
