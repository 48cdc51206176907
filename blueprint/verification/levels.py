"""How much findings matter to this application: levels that settings give codes, and comments that silence findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from blueprint.diagnostics import CODES, Diagnostic, Label, Severity, Sources, finding
from blueprint.diagnostics.codes import FAMILIES
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.draft import Draft
from blueprint.verification.allow_comments import allowances, unknown_code

LEVELS = ("error", "warning", "note", "off")

CHANGES, LOGIC, OWN = "Changes: with `--against`", "Logic: with `--plans`", "Levels and silencing"

_RUNS_ALL_THE_SAME = (
    *("contract-incompatible", "folder-shared", "partition-column", "topic-without-producers", "unknown-setting"),
)
"""Errors with which an application can be planned and started; what they tell of happens, or does not, as it runs."""


def lowerable(code: str) -> bool:
    """Whether findings of a code may be made milder: all but errors that leave nothing to run."""
    milder = CODES[code].severity is not Severity.ERROR or code in _RUNS_ALL_THE_SAME
    return milder or code in FAMILIES[CHANGES] or code in FAMILIES[LOGIC]


class Judge:
    """Gives findings the levels of this application, and keeps count of what it silences."""

    def __init__(self, draft: Draft, files: Iterable[str], sources: Sources) -> None:
        """Arguments: draft: the application; files: whose comments count, besides those that findings stand in."""
        rules = draft.settings.get("verify", "rules")
        self._levels: Mapping[str, Value] = rules.fields if isinstance(rules, ObjectValue) else {}
        self._files, self._sources = set(files), sources
        self._allowed: dict[tuple[str, int, str], Label] = {}
        self._used: set[tuple[str, int, str]] = set()
        self._read: set[str] = set()
        self._told: list[Diagnostic] = list(self._level_findings())
        self.silenced = 0
        self._look_at(self._files)

    def judged(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings that stay, at the levels they have here."""
        found = list(dict.fromkeys(found))
        self._look_at({each.primary.span.file for each in found if each.primary is not None})
        kept = []
        for diagnostic in found:
            level = self._level(diagnostic)
            if level == "off" or self._silences(diagnostic):
                self.silenced += 1
            else:
                kept.append(replace(diagnostic, severity=Severity(level)))
        return kept

    def own(self, *, refused: bool, logic: bool, changes: bool) -> list[Diagnostic]:
        """What is wrong with levels and comments themselves; comments about what nobody could find are left alone.

        Arguments:
            refused: whether there are errors, which keep other rules silent.
            logic, changes: whether those were looked for.
        """
        if refused:
            return self._told
        left_out = {*(() if logic else FAMILIES[LOGIC]), *(() if changes else FAMILIES[CHANGES])}
        unused = [
            finding(
                "allow-unused",
                f"this allows `{code}`, and there is no such finding here",
                label.span,
                help=("take the comment out, or put it on the line of the finding or above it",),
            )
            for (file, line, code), label in self._allowed.items()
            if (file, line, code) not in self._used and code not in left_out and lowerable(code)
        ]
        return [*self._told, *unused]

    def _look_at(self, files: Iterable[str]) -> None:
        new = {file for file in files if not file.startswith("<")} - self._read
        self._read |= new
        found, wrong = allowances(new, self._sources)
        self._told += wrong
        for one in found:
            self._allowed[one.span.file, one.line, one.code] = Label(one.span)
            if not lowerable(one.code):
                self._told.append(_refused(one.code, Label(one.span), "silenced"))

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
                yield _refused(code, Label(span_of(value)), "lowered")


def _refused(code: str, at: Label, what: str) -> Diagnostic:
    return finding(
        "level-refused",
        f"`{code}` cannot be {what}: with such a finding there is nothing to run",
        at,
        causes=(f"it means that {CODES[code].meaning}",),
        help=("take this out, and mend what it is about",),
    )
