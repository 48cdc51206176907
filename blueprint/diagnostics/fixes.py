"""Mechanical remedies that rules have in common."""

from __future__ import annotations

from dataclasses import replace

from blueprint.diagnostics.fix_kinds import FixKind
from blueprint.diagnostics.model import Diagnostic, Edit, Fix, Sources, Span


def rewrite(kind: FixKind, *changes: tuple[Span, str, str]) -> Fix | None:
    """Replace texts by others, each given as (place, what is there, what to write).

    None when one of the texts is not there as it is: quoted, put together of parts, come in from elsewhere.
    """
    if not changes or not all(stands_bare(span, old) for span, old, _ in changes):
        return None
    edits = dict.fromkeys(Edit(span, new, old) for span, old, new in changes)
    return Fix(kind, f"write `{changes[0][2]}`", tuple(edits))


def stands_bare(span: Span, text: str) -> bool:
    """Whether a place is as long as the text, so that it holds it without quotes."""
    return span.line == span.end_line and span.end_column - span.column == len(text)


def with_fitting_fix(diagnostic: Diagnostic, sources: Sources) -> Diagnostic:
    """The finding without its fix when what the fix replaces is not what the source has there."""
    if diagnostic.fix is None or all(_fits(edit, sources) for edit in diagnostic.fix.edits):
        return diagnostic
    return replace(diagnostic, fix=None)


def _fits(edit: Edit, sources: Sources) -> bool:
    if edit.original is None:
        return True
    line = sources.line(edit.span.file, edit.span.line) or ""
    return line[edit.span.column - 1 : edit.span.end_column - 1] == edit.original
