"""What every part of the HOCON parser needs: which brackets are open, what was found wrong, where to go on."""

from __future__ import annotations

from blueprint.diagnostics import Diagnostic, Fix, Label
from blueprint.diagnostics.codes import finding
from blueprint.hocon import lexer
from blueprint.hocon.source import MAX_DEPTH, Source, too_deep

_MAX_FINDINGS = 30
_MAX_INDENT = 200  # looking further back for a line's beginning would make one long line cost its square
MAX_SHOWN = 60
ENDS = frozenset("\n,}]#")
"""What a value on a line ends with, besides `//`."""
_CLOSER = {"{": "}", "[": "]"}


class Stop(Exception):  # noqa: N818  # ends the reading of a hopeless text; it is no error of ours
    """Nothing more of the text is worth reading."""


class Reading:
    """A text being read.

    Arguments:
        source: the text.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.findings: list[Diagnostic] = []
        self.open: list[int] = []
        self.suspect: int | None = None
        self._wrong_at = -1
        self.lost = False  # whether an error swallowed opening brackets, so that missing closing ones prove nothing

    def _wrong_closer(self, at: int, opened: int) -> int:
        """Report a closing bracket of the wrong kind, once for all the brackets that it leaves open.

        Arguments:
            opened: the bracket that it does not close.

        Returns:
            Where to go on: behind it, or at it when it closes a bracket further out.
        """
        wanted = _CLOSER[self.text[opened]]
        if at != self._wrong_at:
            self._report(f"`{self.text[at]}` stands where `{wanted}` should stand", at, at + 1, opened=opened)
            self._wrong_at = at
        self.open.pop()
        return at if self._closes_further_out(at) else at + 1

    def _separator(self, at: int, closer: str, opened: int | None) -> int:
        """Over the comma or line end behind a field or item; reports what stands there instead."""
        text = self.text
        line_end = lexer.tail.match(text, at).end()  # type: ignore[union-attr]  # matches always
        first = text[line_end : line_end + 1]
        if first == "\n":
            at = self._skip(line_end)
            return at + 1 if text[at : at + 1] == "," else at
        if first == ",":
            return line_end + 1
        if first and first not in "}]":
            word = self._word(line_end)
            self._report(
                f"`{word}` stands where `,`, `{closer}` or the end of the line should stand",
                line_end, line_end + len(word),
            )  # fmt: skip
            return self._separator(self._recover(line_end), closer, opened)
        return line_end

    def _recover(self, at: int) -> int:
        """The next line end, comma or closing bracket that belongs to what is open now."""
        nested = 0
        for found in lexer.until_resumable.finditer(self.text, at):
            first = self.text[found.start()]
            if first in "{[":
                nested += 1
            elif first in "}]":
                if nested == 0:
                    return found.start()
                nested -= 1
            elif nested == 0 and first in ",\n":
                return found.start()
        self.lost = self.lost or nested > 0
        return len(self.text)

    def _enter(self, opened: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._too_deep(opened)
        self.open.append(opened)

    def _too_deep(self, at: int) -> None:
        self.findings.append(too_deep(self.source, at))
        raise Stop

    def _in_list(self) -> bool:
        return any(self.text[place] == "[" for place in self.open)

    def _closes_further_out(self, at: int) -> bool:
        """Whether a closing bracket of the wrong kind closes one further out, and one was forgotten before it.

        Otherwise it stands in the place of the right one: what follows closes all that are open without it.
        """
        closer = self.text[at]
        opener = next(one for one, other in _CLOSER.items() if other == closer)
        wanted = sum(self.text[place] == opener for place in self.open)
        return 0 < wanted > self.text.count(closer, at + 1) - self.text.count(opener, at + 1)

    def _leave(self, at: int) -> int:
        opened = self.open.pop()
        if self.suspect is None and self._indent(at, alone=True) < self._indent(opened, alone=False):
            self.suspect = opened
        return at + 1

    def _indent(self, at: int, *, alone: bool) -> int:
        """Indentation of the line at `at`; a large number with `alone` unless nothing stands before `at`."""
        first = max(0, at - _MAX_INDENT)
        begin = self.text.rfind("\n", first, at) + 1
        if begin == 0 and first > 0:
            return 0 if not alone else 1 << 30
        before = self.text[begin:at]
        if alone:
            return len(before) if not before.strip() else 1 << 30
        return len(before) - len(before.lstrip())

    def _unclosed(self, at: int) -> None:
        """The text ends inside brackets: one finding, at the bracket that the indentation says was forgotten."""
        if not self.open or self.lost:
            return
        shown = self.suspect if self.suspect is not None else self.open[-1]
        opener = self.text[shown]
        end = len(self.text.rstrip())
        self.open.clear()
        self._report(
            f"this `{opener}` is never closed", shown, shown + 1,
            also=[Label(self.source.span(end, end), "the text ends here")],
            help=[f"close it with `{_CLOSER[opener]}`"],
        )  # fmt: skip

    def _skip(self, at: int) -> int:
        return lexer.skip.match(self.text, at).end()  # type: ignore[union-attr]  # matches always

    def _word(self, at: int) -> str:
        word = lexer.unquoted.match(self.text, at)
        shown = word[0] if word else self.text[at : at + 1]
        return shown[:MAX_SHOWN]

    def _report(
        self, headline: str, start: int, end: int, *, opened: int | None = None, also: list[Label] | None = None,
        help: list[str] | tuple[str, ...] = (), fix: Fix | None = None,
    ) -> None:  # fmt: skip
        labels = list(also or [])
        if opened is not None:
            labels.append(Label(self.source.span(opened, opened + 1), "opened here"))
        self.findings.append(finding("syntax", headline, self.source.span(start, end), also=labels, help=help, fix=fix))
        if len(self.findings) >= _MAX_FINDINGS:
            raise Stop


def shown(text: str) -> str:
    """Text as findings repeat it: not at any length."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
