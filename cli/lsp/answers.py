"""Findings and proposals in the types of the language server protocol."""

from __future__ import annotations

from lsprotocol import types

from blueprint.diagnostics import Diagnostic, Label, Severity, Sources, Span
from cli.lsp.completion import Proposal
from cli.lsp.positions import Line, is_file, range_of, uri_of

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
NAME = "Streamlets"
"""The name of the server."""


def diagnostic_of(finding: Diagnostic, sources: Sources) -> types.Diagnostic:
    """Return a finding for the editor, with its other places."""
    frames = (Label(frame.span, f"raised in {frame.function}") for frame in finding.frames)
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uri_of(label.span), range_of(label.span, line_of(sources, label.span))), label.message
        )
        for label in (*finding.secondary, *frames)
        if is_file(label.span)
    ]
    start = types.Position(0, 0)
    own = finding.primary is not None and is_file(finding.primary.span)
    return types.Diagnostic(
        range_of(finding.primary.span, line_of(sources, finding.primary.span))
        if finding.primary and own
        else types.Range(start, start),
        "\n".join((finding.headline, *finding.causes, *(f"help: {help}" for help in finding.help))),
        _SEVERITIES[finding.severity],
        finding.code,
        source=NAME,
        related_information=related or None,
    )


def line_of(sources: Sources, span: Span) -> Line:
    """Return a function that returns the lines of the file of a span."""
    return lambda number: sources.line(span.file, number)


def item_of(proposal: Proposal, place: types.Range, data: str) -> types.CompletionItem:
    """Return a proposal for the editor, which replaces a place; `data` comes back when its details are requested."""
    doc = types.MarkupContent(types.MarkupKind.Markdown, proposal.doc) if proposal.doc else None
    return types.CompletionItem(
        proposal.text,
        kind=proposal.kind,
        detail=proposal.detail or None,
        documentation=doc,
        sort_text=f"{0 if proposal.first else 1}{proposal.text}",
        filter_text=proposal.text,
        text_edit=types.TextEdit(place, proposal.text),
        data=data,
    )


def fits(text: str, typed: str) -> bool:
    """Return whether the letters that are typed occur in a text in this order; editors filter in the same way."""
    letters = iter(text.lower())
    return all(letter in letters for letter in typed.lower())


def overlap(left: types.Range, right: types.Range) -> bool:
    """Return whether two ranges have a position in common."""

    def key(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return bool(key(left.start) <= key(right.end) and key(right.start) <= key(left.end))
