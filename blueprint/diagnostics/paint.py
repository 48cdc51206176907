"""Colours of a report on a terminal; a `Paint` without colour returns the text as it is."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.diagnostics.model import Severity

_STYLES = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
_FRAME, _SECONDARY, _HELP, _STRONG = "1;34", "1;34", "1;32", "1"


@dataclass(frozen=True, slots=True)
class Paint:
    """How one finding is coloured: by its severity, when `color` is asked for."""

    severity: Severity
    color: bool

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.color and text else text

    def tag(self, text: str) -> str:
        """The severity and code in front of the headline."""
        return self._paint(text, _STYLES[self.severity])

    def headline(self, text: str) -> str:
        """The headline."""
        return self._paint(text, _STRONG)

    def frame(self, text: str) -> str:
        """Arrows, bars and line numbers."""
        return self._paint(text, _FRAME)

    def mark(self, signs: str, primary: bool) -> str:
        """An underline."""
        return self._paint(signs, _STYLES[self.severity] if primary else _SECONDARY)

    def said(self, text: str, primary: bool) -> str:
        """What is said about a place."""
        return self._paint(text, _STYLES[self.severity] if primary else _SECONDARY)

    def helping(self, text: str) -> str:
        """The word `help`."""
        return self._paint(text, _HELP)
