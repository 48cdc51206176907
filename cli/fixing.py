"""`flow verify --fix` and `--diff`: the fixes that findings carry, made in the files of the project or shown."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.replacing import replace_file

if TYPE_CHECKING:
    from blueprint.diagnostics import Diagnostic, Edit
    from blueprint.verify import Verification

_ROUNDS = 20
"""One mistake may hide behind another, so fixing goes on until a round fixes nothing, or this many are over."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing makes of files.

    Arguments:
        findings: that are fixed, in the order in which that is done.
        texts: of each file before and after.
        left: what is found then.
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
        """What is changed, as `patch` takes it."""
        return "".join(line for file, both in sorted(self.texts.items()) for line in _diff(file, *both))


def fixed(project: Path, verify: Callable[[Mapping[Path, str]], Verification]) -> Fixed:
    """Fix what can be fixed, and again what is found then; no file is written.

    Arguments:
        project: the folder whose files may be changed.
        verify: tells what is found when files, by their resolved paths, hold other texts.
    """
    done: list[Diagnostic] = []
    texts: dict[Path, tuple[str, str]] = {}
    verification = verify({})
    for _ in range(_ROUNDS):
        findings, after = _round(project, verification, texts)
        if not findings:
            break
        again = verify({file.resolve(): text for file, (_, text) in after.items()})
        if _worse(verification, again):  # never make a file that can be read less than before
            break
        done += findings
        texts, verification = after, again
    return Fixed(tuple(done), {file: both for file, both in texts.items() if both[0] != both[1]}, verification)


def _worse(before: Verification, after: Verification) -> bool:
    return after.checked.streamlets < before.checked.streamlets or (
        not after.checked.streamlets and len(after.diagnostics) >= len(before.diagnostics)
    )


def _round(
    project: Path, verification: Verification, texts: dict[Path, tuple[str, str]]
) -> tuple[list[Diagnostic], dict[Path, tuple[str, str]]]:
    """The findings whose fixes can be made together in files of the project, and the texts with them."""
    from blueprint.diagnostics.fixing import MisfitError, apply, choose

    chosen = choose(each for each in verification.diagnostics if _within(each, project))
    made, unfit = dict(texts), set()
    for name, edits in chosen.edits.items():
        file = Path(name)
        try:
            before, now = texts[file] if file in texts else (_text(file),) * 2
            made[file] = before, apply(now, edits)
        except (OSError, UnicodeDecodeError, MisfitError):  # it is not what was verified any more
            unfit.add(name)
    findings = [each for each in chosen.fixed if each.fix and unfit.isdisjoint(_files(each.fix.edits))]
    return findings, made


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def _files(edits: Iterable[Edit]) -> set[str]:
    return {edit.span.file for edit in edits}


def _within(diagnostic: Diagnostic, project: Path) -> bool:
    """Whether all places of the fix are in files of the project; arguments are none."""
    whole = project.resolve()
    edits = diagnostic.fix.edits if diagnostic.fix else ()
    return all(
        not edit.span.file.startswith("<") and Path(edit.span.file).resolve().is_relative_to(whole) for edit in edits
    )


def _line(diagnostic: Diagnostic) -> str:
    assert diagnostic.fix is not None
    span = diagnostic.fix.edits[0].span
    return f"{span.file}:{span.line}:{span.column}: fixed[{diagnostic.code}]: {diagnostic.fix.title}"


def _diff(file: Path, before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only `\\n` ends one, as in places."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
