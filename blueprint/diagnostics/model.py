"""The data model of findings: code, places, causes, help and fix. Renderers turn it into text."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from blueprint.diagnostics.fix_kinds import Applicability, FixKind
from blueprint.html import html_text


class Severity(enum.StrEnum):
    """The severity of a finding. Errors prevent a run, warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of a source text.

    Arguments:
        file: the file as the user would name it, relative to the working directory when it is below that. A text that
            is not a file has a name in angle brackets, such as `<arguments>`.
        line: the first line, from 1.
        column: the first column, from 1, in characters.
        end_line: the last line.
        end_column: the column after the last character.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Label:
    """A place with a message. The headline must be clear without it; the label is the evidence."""

    span: Span
    message: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the user's own code in the traceback of an exception."""

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
    """A mechanical fix: its kind, a title in the imperative, and its edits."""

    kind: FixKind
    title: str
    edits: tuple[Edit, ...]

    @property
    def applicability(self) -> Applicability:
        """Return whether the fix is safe."""
        return self.kind.applicability


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Arguments:
        code: the stable name of the kind of finding, in kebab case, registered in `codes.py`.
        severity: the severity of this finding.
        headline: one sentence that can be read alone, with names in back-quotes and without a full stop.
        primary: the place to look at first, None when there is none.
        secondary: further places, in the order in which they explain the finding.
        causes: the reasons, one sentence each ("the writer has `int`, the reader expects `string`").
        help: what to do, one sentence each (or a text of several lines, shown as it is), the most likely first.
        frames: when the user's code raised, its frames, outermost first.
        fix: a mechanical fix.
        change_class: for a change against an older descriptor, its class; None for other findings.
        streamlets: the streamlets that it concerns, whose blocks, classes or connections have to change.
        topics: the topics that it concerns.
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
    streamlets: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Return the sort key in a report: by place, then by code, with findings without a place first."""
        return (self.primary is not None, self.primary.span if self.primary else None, self.code, self.headline)

    def about(self, path: Sequence[str]) -> Diagnostic:
        """Return the finding as one about a value: it concerns the streamlet or topic that has it.

        Arguments:
            path: the keys below `flow` or `blueprint`, such as `("streamlets", "sensors", "retry")`.
        """
        match path:
            case ("streamlets", ref, *_):
                return replace(self, streamlets=(ref,))
            case ("topics", id, *_):
                return replace(self, topics=(id,))
        return self

    def _repr_html_(self) -> str:
        """Return the finding for a notebook. It has no excerpts of files, which may contain secrets."""
        labels = ([self.primary] if self.primary else []) + list(self.secondary)
        places = [
            f"{label.span.file}:{label.span.line}:{label.span.column}" + f" {label.message}" * bool(label.message)
            for label in labels
        ]
        notes = [*places, *(f"because: {cause}" for cause in self.causes), *(f"help: {text}" for text in self.help)]
        items = "".join(f"<li>{html_text(note)}</li>" for note in notes)
        return f"<p><b>{self.severity.value}[{self.code}]</b>: {html_text(self.headline)}</p><ul>{items}</ul>"


_ALL_BUT_SUBJECTS = tuple(name for name in Diagnostic.__dataclass_fields__ if name not in ("streamlets", "topics"))


def united(findings: Iterable[Diagnostic], *same: str) -> list[Diagnostic]:
    """Return one finding for each mistake: the first that was reported, with the streamlets and topics of all.

    Arguments:
        findings: the findings, in order.
        same: the attributes that findings about one mistake have in common; default: all but streamlets and topics.
    """
    mistake = attrgetter(*(same or _ALL_BUT_SUBJECTS))
    groups: dict[object, list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault(mistake(finding), []).append(finding)
    return [group[0] if len(group) == 1 else _with_subjects(group) for group in groups.values()]


def _with_subjects(findings: Sequence[Diagnostic]) -> Diagnostic:
    return replace(
        findings[0],
        streamlets=tuple(dict.fromkeys(ref for finding in findings for ref in finding.streamlets)),
        topics=tuple(dict.fromkeys(id for finding in findings for id in finding.topics)),
    )


class Sources:
    """The texts that spans refer to, by the file name of the span. Files are read on first use.

    Arguments:
        directory: the directory that relative names start from; default: the working directory of the process.
        texts: strings to read instead of files, by resolved path.
    """

    def __init__(self, directory: Path | str = "", texts: Mapping[Path, str] = MappingProxyType({})) -> None:
        self._directory = Path(directory)
        self._texts = texts
        self._lines: dict[str, list[str]] = {}
        self._mask: Callable[[str, int, str], str] = lambda file, number, line: line

    def hide(self, mask: Callable[[str, int, str], str]) -> None:
        """Apply a mask to all displayed lines.

        Arguments:
            mask: a function of the file, the line number and the line, which returns a line of the same length.
        """
        self._mask = mask

    def shown(self, file: str, number: int) -> str | None:
        """Return line `number` of `file` for display, without secrets; None when it does not exist."""
        line = self.line(file, number)
        return None if line is None else self._mask(file, number, line)

    def add(self, file: str, text: str) -> None:
        """Register `text` under the name `file`: arguments, generated texts, files already read."""
        self._lines[file] = _lines(text)

    def path(self, file: str) -> str:
        """Return the path of `file`, absolute if the directory of the sources is."""
        return str(self._directory / file)

    def line(self, file: str, number: int) -> str | None:
        """Return line `number` (from 1) of `file` without its line end; None when it does not exist."""
        lines = self.lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else None

    def lines(self, file: str) -> list[str]:
        """Return all lines of `file` without their line ends; an empty list when it cannot be read."""
        if file not in self._lines:
            path = self._directory / file
            try:
                known = self._texts.get(path.resolve()) if self._texts else None
                text = known if known is not None else path.read_text(encoding="utf-8", errors="replace")
                self._lines[file] = _lines(text)
            except (OSError, ValueError):
                self._lines[file] = []
        return self._lines[file]


def _lines(text: str) -> list[str]:
    """Split a text into lines as spans count them: only `\\n` ends a line, with a `\\r` before it if there is one."""
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
