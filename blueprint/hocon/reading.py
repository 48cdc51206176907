"""The state of a HOCON parse: the open brackets, the findings so far, and where to continue after an error."""

from __future__ import annotations

from blueprint.diagnostics import Diagnostic, Fix, Label
from blueprint.diagnostics.codes import finding
from blueprint.hocon import lexer
from blueprint.hocon.source import MAX_DEPTH, Source, too_deep

_MAX_FINDINGS = 30
_MAX_INDENT = 200  # without a limit, one long line would take quadratic time
MAX_SHOWN = 60
ENDS = frozenset("\n,}]#")
"""The characters that end a value on its line, besides `//`."""
_CLOSER = {"{": "}", "[": "]"}


class Stop(Exception):  # noqa: N818  # it ends the reading of a damaged text, it is not an error of this project
    """The rest of the text is not read."""


class Reading:
    """A text being read.

    Arguments:
        source: the text to read.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.findings: list[Diagnostic] = []
        self.open: list[int] = []
        self.suspect: int | None = None
        self._wrong_at = -1
        self.lost = False  # an error skipped opening brackets, so missing closing brackets are not reported

    def _wrong_closer(self, at: int, opened: int) -> int:
        """Report a mismatched closing bracket, once for all the brackets that it leaves open.

        Arguments:
            at: the offset of the closing bracket.
            opened: the offset of the bracket that it does not close.

        Returns:
            The offset at which to continue: after the bracket, or at it when it closes an outer one.
        """
        closer = _CLOSER[self.text[opened]]
        if at != self._wrong_at:
            self._report(f"expected `{closer}`, found `{self.text[at]}`", at, at + 1, opened=opened)
            self._wrong_at = at
        self.open.pop()
        return at if self._closes_further_out(at) else at + 1

    def _separator(self, at: int, closer: str, opened: int | None) -> int:
        """Skip the comma or line end after a field or item, and report anything else.

        Returns:
            The offset at which to continue.
        """
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
                f"expected `,`, `{closer}` or the end of the line, found `{word}`",
                line_end, line_end + len(word),
            )  # fmt: skip
            return self._separator(self._recover(line_end), closer, opened)
        return line_end

    def _recover(self, at: int) -> int:
        """Return the offset of the next line end, comma or closing bracket at the current nesting."""
        nested = 0
        for match in lexer.until_resumable.finditer(self.text, at):
            first = self.text[match.start()]
            if first in "{[":
                nested += 1
            elif first in "}]":
                if nested == 0:
                    return match.start()
                nested -= 1
            elif nested == 0 and first in ",\n":
                return match.start()
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
        """Return whether a mismatched closing bracket closes an outer one, so that another is missing before it.

        Otherwise it was written in place of the right one: the brackets after it close all that are open.
        """
        closer = self.text[at]
        opener = next(opener for opener, match in _CLOSER.items() if match == closer)
        unclosed = sum(self.text[place] == opener for place in self.open)
        return 0 < unclosed > self.text.count(closer, at + 1) - self.text.count(opener, at + 1)

    def _leave(self, at: int) -> int:
        opened = self.open.pop()
        if self.suspect is None and self._indent(at, alone=True) < self._indent(opened, alone=False):
            self.suspect = opened
        return at + 1

    def _indent(self, at: int, *, alone: bool) -> int:
        """Return the indentation of the line at `at`; with `alone`, a large number when other text precedes `at`."""
        first = max(0, at - _MAX_INDENT)
        begin = self.text.rfind("\n", first, at) + 1
        if begin == 0 and first > 0:
            return 0 if not alone else 1 << 30
        before = self.text[begin:at]
        if alone:
            return len(before) if not before.strip() else 1 << 30
        return len(before) - len(before.lstrip())

    def _unclosed(self, at: int) -> None:
        """Report, once, that the text ends inside brackets: at the one that the indentation shows to be unclosed."""
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
    """Return text as findings quote it, shortened to `MAX_SHOWN` characters."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
