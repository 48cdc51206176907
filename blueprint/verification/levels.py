"""`Levels`: the severity of findings in an application, as settings and comments change it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from blueprint.core_settings import LEVELS
from blueprint.diagnostics import CODES, Diagnostic, Label, Severity, Sources, finding, united
from blueprint.diagnostics.codes import FAMILIES
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.draft import Draft
from blueprint.verification.allowances import allowances, unknown_code

_CHANGES, _LOGIC = "Changes: with `--against`", "Logic: with `--plans`"

_RUNNABLE_ERRORS = (
    "contract-incompatible",
    "directory-shared",
    "output-read",
    "partition-column",
    "topic-without-producers",
    "unknown-setting",
)
"""Errors with which an application can be planned and started. Whether they do harm depends on the records."""


def lowerable(code: str) -> bool:
    """Return whether findings of a code can be lowered or silenced: all but errors that prevent a plan."""
    milder = CODES[code].severity is not Severity.ERROR or code in _RUNNABLE_ERRORS
    return milder or code in FAMILIES[_CHANGES] or code in FAMILIES[_LOGIC]


class Levels:
    """The levels that `flow.verify.rules` sets, and the comments that silence findings.

    After `apply`, `silenced` is the number of findings that were dropped.
    """

    def __init__(self, draft: Draft, files: Iterable[str], sources: Sources) -> None:
        """Read settings and comments.

        Arguments:
            draft: the application.
            files: the files whose comments are read, besides the files that findings point into.
            sources: the texts of files.
        """
        rules = draft.settings.get("verify", "rules")
        self._levels: Mapping[str, Value] = rules.fields if isinstance(rules, ObjectValue) else {}
        self._sources = sources
        self._allowed: dict[tuple[str, int, str], Label] = {}
        self._used: set[tuple[str, int, str]] = set()
        self._read: set[str] = set()
        self._findings: list[Diagnostic] = list(self._level_findings())
        self.silenced = 0
        self._read_comments(set(files))

    def apply(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings that are not silenced, without duplicates, at their levels in this application."""
        findings = united(findings)
        self._read_comments({finding.primary.span.file for finding in findings if finding.primary is not None})
        kept = []
        for diagnostic in findings:
            level = self._level(diagnostic)
            if level == "off" or self._silences(diagnostic):
                self.silenced += 1
            else:
                kept.append(replace(diagnostic, severity=Severity(level)))
        return kept

    def own_findings(self, *, errors: bool, logic: bool, changes: bool) -> list[Diagnostic]:
        """Return the findings about the levels and comments themselves.

        Arguments:
            errors: whether there are errors; then rules may have been silent, and unused comments prove nothing.
            logic: whether logic was checked.
            changes: whether the application was compared. Comments on findings that were not looked for are not
                reported as unused.
        """
        if errors:
            return self._findings
        not_checked = {*(() if logic else FAMILIES[_LOGIC]), *(() if changes else FAMILIES[_CHANGES])}
        unused = [
            finding(
                "allow-unused",
                f"this comment allows `{code}`, but there is no such finding here",
                label.span,
                help=("remove the comment, or move it to the line of the finding or the line above",),
            )
            for (file, line, code), label in self._allowed.items()
            if (file, line, code) not in self._used and code not in not_checked and lowerable(code)
        ]
        return [*self._findings, *unused]

    def _read_comments(self, files: set[str]) -> None:
        new = {file for file in files if not file.startswith("<")} - self._read
        self._read |= new
        allowed, unknown_codes = allowances(new, self._sources)
        self._findings += unknown_codes
        for allowance in allowed:
            label = Label(allowance.span)
            self._allowed[allowance.span.file, allowance.line, allowance.code] = label
            if not lowerable(allowance.code):
                self._findings.append(_level_refused(allowance.code, label, "silenced"))

    def _silences(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.primary is None or not lowerable(diagnostic.code):
            return False
        key = diagnostic.primary.span.file, diagnostic.primary.span.line, diagnostic.code
        if key in self._allowed:
            self._used.add(key)
        return key in self._allowed

    def _level(self, diagnostic: Diagnostic) -> str:
        value = self._levels.get(diagnostic.code)
        level = value.text if isinstance(value, Scalar) and value.text in LEVELS else diagnostic.severity.value
        return level if level == "error" or lowerable(diagnostic.code) else diagnostic.severity.value

    def _level_findings(self) -> Iterator[Diagnostic]:
        for code, value in self._levels.items():
            if code not in CODES:
                yield unknown_code(code, key_span_of(value))
            elif isinstance(value, Scalar) and value.text in LEVELS[1:] and not lowerable(code):
                yield _level_refused(code, Label(span_of(value)), "lowered")


def _level_refused(code: str, label: Label, change: str) -> Diagnostic:
    return finding(
        "level-refused",
        f"`{code}` cannot be {change}: an application with such an error cannot be started",
        label,
        causes=(f"`{code}` means that {CODES[code].meaning}",),
        help=("remove this, and fix the error",),
    )
