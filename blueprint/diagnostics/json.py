"""Findings as JSON. The schema is documented in `docs/diagnostics-json.md`."""

from __future__ import annotations

import json
from dataclasses import asdict

from blueprint.diagnostics.model import Diagnostic, Fix, Label, Severity, Span
from blueprint.diagnostics.report import Report

VERSION = 1


def render_json(report: Report, *, color: bool = False, width: int = 80) -> str:
    """Return one JSON object with its keys in a fixed order.

    Arguments:
        report: the findings.
        color: ignored.
        width: ignored.
    """
    counts = {severity.value: 0 for severity in Severity}
    for diagnostic in report.diagnostics:
        counts[diagnostic.severity.value] += 1
    document = {
        "version": VERSION,
        "blueprint": report.blueprint,
        "counts": counts,
        "checked": asdict(report.checked),
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in report.diagnostics],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "headline": diagnostic.headline,
        "primary": _label(diagnostic.primary) if diagnostic.primary else None,
        "secondary": [_label(label) for label in diagnostic.secondary],
        "causes": list(diagnostic.causes),
        "help": list(diagnostic.help),
        "frames": [{**_span(frame.span), "function": frame.function} for frame in diagnostic.frames],
        "fix": _fix(diagnostic.fix) if diagnostic.fix else None,
        "class": diagnostic.change_class,
        "streamlets": list(diagnostic.streamlets),
        "topics": list(diagnostic.topics),
    }


def _label(label: Label) -> dict[str, object]:
    return {**_span(label.span), "message": label.message}


def _fix(fix: Fix) -> dict[str, object]:
    edits = [{**_span(edit.span), "replacement": edit.replacement} for edit in fix.edits]
    return {"title": fix.title, "applicability": fix.applicability.value, "edits": edits}


def _span(span: Span) -> dict[str, object]:
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
