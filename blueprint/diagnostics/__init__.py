"""Findings: the model that every rule and reader reports in, and one small module per renderer."""

from blueprint.diagnostics.codes import CODES, Code, finding
from blueprint.diagnostics.fix_kinds import Applicability, FixKind
from blueprint.diagnostics.model import Diagnostic, Edit, Fix, Frame, Label, Severity, Sources, Span, united
from blueprint.diagnostics.report import Checked, Report

__all__ = [
    "CODES",
    "Applicability",
    "Checked",
    "Code",
    "Diagnostic",
    "Edit",
    "Fix",
    "FixKind",
    "Frame",
    "Label",
    "Report",
    "Severity",
    "Sources",
    "Span",
    "finding",
    "united",
]
