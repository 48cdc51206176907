"""`flow verify --fix` and `--diff`: the fixes that findings carry, made in the files of the project or shown."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.replacing import replace_file

if TYPE_CHECKING:
    from blueprint.diagnostics import Diagnostic, Edit
    from blueprint.model.graph import ApplicationGraph
    from blueprint.verification.verify import Verification

_ROUNDS = 20
"""One mistake may hide behind another, so fixing goes on until a round fixes nothing, or this many are over."""

Texts = Mapping[Path, str]
Verify = Callable[[Texts], "Verification"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing makes of files.

    Arguments:
        findings: that are fixed, in the order in which that is done.
        texts: of each file before and after.
        left: the verification after it.
    """

    findings: tuple[Diagnostic, ...]
    texts: dict[Path, tuple[str, str]]
    left: Verification

    def write(self) -> None:
        """Make the fixes, each file as a whole.

        Raises:
            click.ClickException: a file cannot be written.
        """
        for file, (_, after) in self.texts.items():
            try:
                replace_file(file, after.encode("utf-8"))
            except OSError as error:
                raise click.ClickException(f"`{file}` cannot be written: {error.strerror or error}") from None

    def lines(self) -> list[str]:
        """A line for each finding that is fixed."""
        return [_line(finding) for finding in self.findings]

    def diff(self) -> str:
        """What is changed, as `patch` takes it, after a line for each fix that says whether it is safe."""
        diffs = (line for file, both in sorted(self.texts.items()) for line in _diff(file, *both))
        return "".join([*map(_marked, self.findings), *diffs])

    def unsafe(self, project: Path) -> int:
        """How many of the findings that are left have an unsafe fix."""
        return sum(not _safe(finding) for finding in self.left.diagnostics if finding.fix and _within(finding, project))


def fixes(project: Path, verify: Verify, *, unsafe: bool) -> list[Fixed]:
    """Make the safe fixes, and then, where asked for, the unsafe ones and what comes to light by them; write no file.

    Arguments:
        project: the directory whose files may be changed.
        verify: verifies with files, by their resolved paths, of other texts.

    Returns:
        What the safe fixes make of files, and what all further ones make of the outcome.
    """
    safe = _fixed(project, verify, {}, _safe)
    return (
        [safe, _fixed(project, verify, {file: after for file, (_, after) in safe.texts.items()})] if unsafe else [safe]
    )


def _fixed(
    project: Path, verify: Verify, held: Texts, chosen: Callable[[Diagnostic], bool] = lambda finding: True
) -> Fixed:
    """Fix what is chosen and can be fixed, then what is found after it.

    Arguments:
        held: the texts to begin with, where they are not those of the files.
    """
    done: list[Diagnostic] = []
    texts = {file: (text, text) for file, text in held.items()}
    verification = verify(_after(texts))
    for _ in range(_ROUNDS):
        candidates = [each for each in verification.diagnostics if each.fix and chosen(each) and _within(each, project)]
        made = _round(candidates, verification, texts, verify)
        if made is None:
            break
        findings, texts, verification = made
        done += findings
    return Fixed(tuple(done), {file: both for file, both in texts.items() if both[0] != both[1]}, verification)


_Round = tuple[Sequence["Diagnostic"], dict[Path, tuple[str, str]], "Verification"]


def _round(
    candidates: Sequence[Diagnostic], before: Verification, texts: dict[Path, tuple[str, str]], verify: Verify
) -> _Round | None:
    """Make fixes that go together: the findings fixed, the texts and the verification after it; None when none is made.

    A fix with which another finding comes up on a line that it writes is left to the author.
    """
    from blueprint.diagnostics.fixing import choose

    while candidates:
        findings = choose(candidates).fixed
        after, lines = _applied(choose(findings).edits, texts)
        fitting = [each for each in findings if all(edit in lines for edit in _edits(each))]
        if len(fitting) < len(findings):
            candidates = fitting
            continue
        again = verify(_after(after))
        if _worse(before, again, safe=all(map(_safe, findings))):
            return None
        bad = [each for each in findings if _adds_findings(each, lines, before, again)]
        if not bad:
            return findings, after, again
        candidates = [each for each in candidates if each not in bad]
    return None


def _applied(
    edits: Mapping[str, Sequence[Edit]], texts: dict[Path, tuple[str, str]]
) -> tuple[dict[Path, tuple[str, str]], dict[Edit, range]]:
    """The texts with the edits made, and the lines that each has written on; files with other texts stay out."""
    from blueprint.diagnostics.fixing import MisfitError, apply

    made = dict(texts)
    lines: dict[Edit, range] = {}
    for name, several in edits.items():
        file = Path(name)
        try:
            first, now = texts[file] if file in texts else (_text(file),) * 2
            applied = apply(now, several)
        except (OSError, UnicodeDecodeError, MisfitError):  # it is not what was verified any more
            continue
        made[file] = first, applied.text
        lines |= applied.lines
    return made, lines


def _adds_findings(fixed: Diagnostic, lines: Mapping[Edit, range], before: Verification, after: Verification) -> bool:
    """Whether there is a finding on a line that a fix has written on, and not without the fix."""
    known = {(finding.code, finding.headline) for finding in before.diagnostics}
    return any(
        label.span.file == edit.span.file and label.span.line in lines[edit]
        for finding in after.diagnostics
        if (finding.code, finding.headline) not in known
        for label in (finding.primary, *finding.secondary)
        if label is not None
        for edit in _edits(fixed)
    )


def _worse(before: Verification, after: Verification, *, safe: bool) -> bool:
    """Whether less can be read than before, or safe fixes have changed what the application is."""
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
    """Whether all places of the fix are in files of the project; arguments are none."""
    whole = project.resolve()
    return all(
        not edit.span.file.startswith("<") and Path(edit.span.file).resolve().is_relative_to(whole)
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
    """Lines with their ends; only `\\n` ends one, as in places."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
