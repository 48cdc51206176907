"""`flow verify --fix` and `--diff`: apply the fixes of findings to a project's files, or show them as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamlets.storage.files import replace_file

if TYPE_CHECKING:
    from blueprint.diagnostics import Diagnostic, Edit
    from blueprint.model.graph import ApplicationGraph
    from blueprint.verification.verify import Verification

_ROUNDS = 20
"""The maximum number of rounds. A fix may reveal further findings, so rounds continue until one fixes nothing."""

Texts = Mapping[Path, str]
Verify = Callable[[Texts], "Verification"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The result of applying fixes.

    Arguments:
        findings: the fixed findings, in the order in which they were fixed.
        texts: the text of each changed file before and after.
        left: the verification of the fixed files.
    """

    findings: tuple[Diagnostic, ...]
    texts: dict[Path, tuple[str, str]]
    left: Verification

    def write(self) -> None:
        """Write the changed files, each atomically.

        Raises:
            click.ClickException: a file cannot be written.
        """
        for file, (_, after) in self.texts.items():
            try:
                replace_file(file, after.encode("utf-8"))
            except OSError as error:
                raise click.ClickException(f"`{file}` cannot be written: {error.strerror or error}") from None

    def lines(self) -> list[str]:
        """Return a line for each fixed finding."""
        return [_line(finding) for finding in self.findings]

    def diff(self) -> str:
        """Return the changes in the format of `patch`, after a comment for each fix that shows whether it is safe."""
        diffs = (line for file, both in sorted(self.texts.items()) for line in _diff(file, *both))
        return "".join([*map(_marked, self.findings), *diffs])

    def unsafe(self, project: Path) -> int:
        """Return how many of the remaining findings have an unsafe fix."""
        return sum(not _safe(finding) for finding in self.left.diagnostics if finding.fix and _within(finding, project))


def fixes(project: Path, verify: Verify, *, unsafe: bool) -> list[Fixed]:
    """Apply the safe fixes and then, on request, all fixes, without writing files.

    Arguments:
        project: the directory whose files may be changed.
        verify: verifies with texts instead of the content of files, by their resolved paths.
        unsafe: whether to apply unsafe fixes, too.

    Returns:
        The result of the safe fixes and, if requested, the result of all further fixes after them.
    """
    safe = _fixed(project, verify, {}, _safe)
    return (
        [safe, _fixed(project, verify, {file: after for file, (_, after) in safe.texts.items()})] if unsafe else [safe]
    )


def _fixed(
    project: Path, verify: Verify, initial: Texts, selects: Callable[[Diagnostic], bool] = lambda finding: True
) -> Fixed:
    """Apply fixes in rounds until no further fix can be applied.

    Arguments:
        project: the directory whose files may be changed.
        verify: verifies with texts instead of the content of files.
        initial: the texts to start with, for files that differ from their content on disk.
        selects: whether to fix a finding.
    """
    fixed: list[Diagnostic] = []
    texts = {file: (text, text) for file, text in initial.items()}
    verification = verify(_after(texts))
    for _ in range(_ROUNDS):
        candidates = [
            finding
            for finding in verification.diagnostics
            if finding.fix and selects(finding) and _within(finding, project)
        ]
        result = _apply_round(candidates, verification, texts, verify)
        if result is None:
            break
        findings, texts, verification = result
        fixed += findings
    return Fixed(tuple(fixed), {file: both for file, both in texts.items() if both[0] != both[1]}, verification)


_Round = tuple[Sequence["Diagnostic"], dict[Path, tuple[str, str]], "Verification"]


def _apply_round(
    candidates: Sequence[Diagnostic], before: Verification, texts: dict[Path, tuple[str, str]], verify: Verify
) -> _Round | None:
    """Apply fixes that do not overlap.

    A fix that causes a new finding on a line that it writes is left to the author, see `_adds_findings`.

    Returns:
        The fixed findings, the texts and the verification after the fixes; None when no fix can be applied.
    """
    from blueprint.diagnostics.fixing import choose

    while candidates:
        findings = choose(candidates).fixed
        after, lines = _applied(choose(findings).edits, texts)
        applicable = [finding for finding in findings if all(edit in lines for edit in _edits(finding))]
        if len(applicable) < len(findings):
            candidates = applicable
            continue
        verification = verify(_after(after))
        if _worse(before, verification, safe=all(map(_safe, findings))):
            return None
        harmful = [finding for finding in findings if _adds_findings(finding, lines, before, verification)]
        if not harmful:
            return findings, after, verification
        candidates = [finding for finding in candidates if finding not in harmful]
    return None


def _applied(
    edits: Mapping[str, Sequence[Edit]], texts: dict[Path, tuple[str, str]]
) -> tuple[dict[Path, tuple[str, str]], dict[Edit, range]]:
    """Return the texts after edits, and the lines that each edit wrote.

    Files that have changed since they were verified are omitted.
    """
    from blueprint.diagnostics.fixing import MisfitError, apply

    edited = dict(texts)
    lines: dict[Edit, range] = {}
    for name, file_edits in edits.items():
        file = Path(name)
        try:
            original, current = texts[file] if file in texts else (_text(file),) * 2
            applied = apply(current, file_edits)
        except (OSError, UnicodeDecodeError, MisfitError):
            continue
        edited[file] = original, applied.text
        lines |= applied.lines
    return edited, lines


def _adds_findings(fixed: Diagnostic, lines: Mapping[Edit, range], before: Verification, after: Verification) -> bool:
    """Return whether a fix causes a new finding on a line that it wrote.

    After a safe fix of an error, only errors count: a setting that is understood now may be worth a warning.
    """
    known = {(finding.code, finding.headline) for finding in before.diagnostics}
    errors_only = _safe(fixed) and fixed.severity.value == "error"
    return any(
        label.span.file == edit.span.file and label.span.line in lines[edit]
        for finding in after.diagnostics
        if (finding.code, finding.headline) not in known
        if finding.severity.value == "error" or not errors_only
        for label in (finding.primary, *finding.secondary)
        if label is not None
        for edit in _edits(fixed)
    )


def _worse(before: Verification, after: Verification, *, safe: bool) -> bool:
    """Return whether less can be verified than before, or safe fixes have changed the application's graph."""
    return (
        after.checked.streamlets < before.checked.streamlets
        or (not after.checked.streamlets and len(after.diagnostics) >= len(before.diagnostics))
        or (safe and not _parts(before.graph) <= _parts(after.graph))
    )


def _parts(graph: ApplicationGraph) -> set[object]:
    return {*graph.streamlets, *graph.topics, *((edge.source, edge.target, edge.port) for edge in graph.edges)}


def _after(texts: Mapping[Path, tuple[str, str]]) -> dict[Path, str]:
    return {file.resolve(): text for file, (_, text) in texts.items()}


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def _safe(diagnostic: Diagnostic) -> bool:
    return diagnostic.fix is not None and diagnostic.fix.applicability.value == "safe"


def _edits(diagnostic: Diagnostic) -> tuple[Edit, ...]:
    return diagnostic.fix.edits if diagnostic.fix is not None else ()


def _within(diagnostic: Diagnostic, project: Path) -> bool:
    """Return whether all edits of a fix are in files of the project, and none in command-line arguments."""
    directory = project.resolve()
    return all(
        not edit.span.file.startswith("<") and Path(edit.span.file).resolve().is_relative_to(directory)
        for edit in _edits(diagnostic)
    )


def _line(diagnostic: Diagnostic) -> str:
    mark = "" if _safe(diagnostic) else " (unsafe)"
    return f"{_place(diagnostic)}: fixed[{diagnostic.code}]{mark}: {_title(diagnostic)}"


def _marked(diagnostic: Diagnostic) -> str:
    applicability = "safe" if _safe(diagnostic) else "unsafe"
    return f"# {applicability}: {_place(diagnostic)}: [{diagnostic.code}] {_title(diagnostic)}\n"


def _place(diagnostic: Diagnostic) -> str:
    span = _edits(diagnostic)[0].span
    return f"{span.file}:{span.line}:{span.column}"


def _title(diagnostic: Diagnostic) -> str:
    assert diagnostic.fix is not None
    return diagnostic.fix.title


def _diff(file: Path, before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Return lines with their ends; only `\\n` ends a line, as in places."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
