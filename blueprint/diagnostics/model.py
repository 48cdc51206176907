"""The one data model of every finding: codes, places, causes, remedies. Data only; `renderers` draw it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from blueprint.diagnostics.fix_kinds import Applicability, FixKind


class Severity(enum.StrEnum):
    """How bad a finding is: errors refuse a run, warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a source text.

    Arguments:
        file: the file as the user would name it (relative to the working directory when below it);
            texts that are no file carry a name in angle brackets, such as `<arguments>`.
        line, column: where it begins, from 1; columns count characters.
        end_line, end_column: where it ends; the column is the first one behind it.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Label:
    """A place and what is to be said about it. The headline stands alone; the label is the argument."""

    span: Span
    message: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the user's own code in a failure that came out of it."""

    span: Span
    function: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span`, which is `original` (None: any text), by `replacement`."""

    span: Span
    replacement: str
    original: str | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A mechanical remedy: its kind, a title in the imperative, and what it writes."""

    kind: FixKind
    title: str
    edits: tuple[Edit, ...]

    @property
    def applicability(self) -> Applicability:
        """Whether it may be made without being asked for."""
        return self.kind.applicability


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Arguments:
        code: stable name of the kind of finding, in kebab case; registered in `codes.py`.
        severity: of this finding.
        headline: one sentence that can be read alone; names stand in back-quotes; no full stop.
        primary: the place to look at first, when there is one.
        secondary: further places that belong to it, in the order in which they explain it.
        causes: why it is so, one sentence each ("the writer has `int`, the reader wants `string`").
        help: what to do, one sentence (or one block of text, lines kept) each; the most likely first.
        frames: the user's own frames, outermost first, when the user's code raised.
        fix: a mechanical remedy.
        change_class: of a change against an older descriptor, what it takes to make it; None for other findings.
    """

    code: str
    severity: Severity
    headline: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    causes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    fix: Fix | None = field(default=None)
    change_class: str | None = None

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Order of findings in a report: by place, then by code; findings without a place come first."""
        return (self.primary is not None, self.primary.span if self.primary else None, self.code, self.headline)


class Sources:
    """The texts that spans point into, by the name a span carries. Files are read when first asked for.

    Arguments:
        folder: what relative names start from; the working directory of the process when left out.
        texts: read in place of files, by their resolved paths.
    """

    def __init__(self, folder: Path | str = "", texts: Mapping[Path, str] = MappingProxyType({})) -> None:
        self._folder = Path(folder)
        self._texts = texts
        self._lines: dict[str, list[str]] = {}
        self._mask: Callable[[str, int, str], str] = lambda file, number, line: line

    def hide(self, mask: Callable[[str, int, str], str]) -> None:
        """Have a mask applied to each line that is shown; it takes the file, the line's number and the line, and keeps
        its length."""
        self._mask = mask

    def shown(self, file: str, number: int) -> str | None:
        """Line `number` of `file` as an excerpt shows it, without secrets; None when there is none."""
        line = self.line(file, number)
        return None if line is None else self._mask(file, number, line)

    def add(self, file: str, text: str) -> None:
        """Make `text` known under `file`: arguments, generated texts, files already read."""
        self._lines[file] = _lines(text)

    def path(self, file: str) -> str:
        """Where `file` lies, seen from wherever the folder is: absolute when that is."""
        return str(self._folder / file)

    def line(self, file: str, number: int) -> str | None:
        """Line `number` (from 1) of `file`, without its end; None when there is none."""
        lines = self.lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else None

    def lines(self, file: str) -> list[str]:
        """All lines of `file`, without their ends; none when there is no such text."""
        if file not in self._lines:
            path = self._folder / file
            try:
                known = self._texts.get(path.resolve()) if self._texts else None
                text = known if known is not None else path.read_text(encoding="utf-8", errors="replace")
                self._lines[file] = _lines(text)
            except (OSError, ValueError):
                self._lines[file] = []
        return self._lines[file]


def _lines(text: str) -> list[str]:
    """Lines as spans count them: only `\\n` ends one (and a `\\r` before it belongs to the end)."""
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
