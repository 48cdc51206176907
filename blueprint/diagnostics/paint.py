"""The colours of a report on a terminal. A `Paint` without colour returns texts unchanged."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.diagnostics.model import Severity

_STYLES = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
_FRAME, _SECONDARY, _HELP, _STRONG = "1;34", "1;34", "1;32", "1"


@dataclass(frozen=True, slots=True)
class Paint:
    """The colours of one finding, which depend on its severity. Without `color`, texts stay unchanged."""

    severity: Severity
    color: bool

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.color and text else text

    def tag(self, text: str) -> str:
        """Colour the severity and code before the headline."""
        return self._paint(text, _STYLES[self.severity])

    def headline(self, text: str) -> str:
        """Colour the headline."""
        return self._paint(text, _STRONG)

    def frame(self, text: str) -> str:
        """Colour arrows, bars and line numbers."""
        return self._paint(text, _FRAME)

    def mark(self, signs: str, primary: bool) -> str:
        """Colour an underline."""
        return self._paint(signs, _STYLES[self.severity] if primary else _SECONDARY)

    def message(self, text: str, primary: bool) -> str:
        """Colour the message of a place."""
        return self._paint(text, _STYLES[self.severity] if primary else _SECONDARY)

    def helping(self, text: str) -> str:
        """Colour the word `help`."""
        return self._paint(text, _HELP)
