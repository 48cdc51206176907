"""Mechanical remedies that rules have in common."""

from __future__ import annotations

from blueprint.diagnostics.model import Edit, Fix, Span


def rewrite(*changes: tuple[Span, str, str]) -> Fix | None:
    """Replace texts by others, each given as (place, what stands there, what shall stand there).

    None when one of the texts does not stand there as it is: quoted, put together of parts, come in from elsewhere.
    """
    if not changes or not all(stands_bare(span, old) for span, old, _ in changes):
        return None
    return Fix(f"write `{changes[0][2]}`", tuple(Edit(span, new) for span, _, new in changes))


def stands_bare(span: Span, text: str) -> bool:
    """Whether a place is as long as the text, so that it holds it without quotes."""
    return span.line == span.end_line and span.end_column - span.column == len(text)
