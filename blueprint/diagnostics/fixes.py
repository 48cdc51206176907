"""Constructors of fixes that several rules use."""

from __future__ import annotations

from dataclasses import replace

from blueprint.diagnostics.fix_kinds import FixKind
from blueprint.diagnostics.model import Diagnostic, Edit, Fix, Sources, Span


def rewrite(kind: FixKind, *changes: tuple[Span, str, str]) -> Fix | None:
    """Return a fix that replaces texts.

    Arguments:
        kind: the kind of the fix.
        changes: the place of each text, the text as it is and its replacement.

    Returns:
        The fix, or None when a place does not have its text literally: it is quoted, concatenated or substituted.
    """
    if not changes or not all(is_bare(span, old) for span, old, _ in changes):
        return None
    edits = dict.fromkeys(Edit(span, new, old) for span, old, new in changes)
    return Fix(kind, f"write `{changes[0][2]}`", tuple(edits))


def is_bare(span: Span, text: str) -> bool:
    """Return whether a place is exactly as long as a text, and so has the text without quotes."""
    return span.line == span.end_line and span.end_column - span.column == len(text)


def with_fitting_fix(diagnostic: Diagnostic, sources: Sources) -> Diagnostic:
    """Return the finding, without its fix if the source has other text at a place that the fix replaces."""
    if diagnostic.fix is None or all(_fits(edit, sources) for edit in diagnostic.fix.edits):
        return diagnostic
    return replace(diagnostic, fix=None)


def _fits(edit: Edit, sources: Sources) -> bool:
    if edit.original is None:
        return True
    line = sources.line(edit.span.file, edit.span.line) or ""
    return line[edit.span.column - 1 : edit.span.end_column - 1] == edit.original
