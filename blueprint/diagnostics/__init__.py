"""Findings: the model every rule and loader speaks, and one small file per renderer."""

from blueprint.diagnostics.model import Diagnostic, Edit, Fix, Frame, Label, Severity, Sources, Span

__all__ = ["Diagnostic", "Edit", "Fix", "Frame", "Label", "Severity", "Sources", "Span"]
