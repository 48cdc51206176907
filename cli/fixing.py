"""`flow verify --fix` and `--diff`: the fixes that findings carry, made in the files of the project or shown."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.replacing import replace_file

if TYPE_CHECKING:
    from blueprint.diagnostics import Diagnostic
    from blueprint.verify import Verification

_ROUNDS = 20
"""One mistake may hide behind another, so fixing goes on until a round fixes nothing, or this many are over."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What one round of fixing makes of files.

    Arguments:
        findings: that are fixed; texts: of each file before and after.
    """

    findings: tuple[Diagnostic, ...]
    texts: dict[Path, tuple[str, str]]


def fix_all(project: Path, verify: Callable[[], Verification]) -> list[str]:
    """Fix what can be fixed, and again what is found then; gives a line for each finding that was fixed.

    Arguments:
        project: the folder whose files may be changed; verify: tells what is found now.

    Raises:
        click.ClickException: a file cannot be written.
    """
    told: list[str] = []
    verification = verify()
    for _ in range(_ROUNDS):
        fixed = fixes(project, verification)
        if not fixed.findings:
            break
        _write({file: after for file, (_, after) in fixed.texts.items()})
        again = verify()
        if _worse(verification, again):  # never leave a file that can be read less than before
            _write({file: before for file, (before, _) in fixed.texts.items()})
            break
        told += map(_line, fixed.findings)
        verification = again
    return told


def _worse(before: Verification, after: Verification) -> bool:
    return after.checked.streamlets < before.checked.streamlets or (
        not after.checked.streamlets and len(after.diagnostics) >= len(before.diagnostics)
    )


def fixes(project: Path, verification: Verification) -> Fixed:
    """The fixes that a verification's findings carry and that can be made together, in files of the project."""
    from blueprint.diagnostics.fixing import MisfitError, apply, choose

    chosen = choose(each for each in verification.diagnostics if _within(each, project))
    texts, unfit = {}, set()
    for name, edits in chosen.edits.items():
        try:
            before = Path(name).read_bytes().decode("utf-8")
            texts[Path(name)] = before, apply(before, edits)
        except (OSError, UnicodeDecodeError, MisfitError):  # it is not what was verified any more
            unfit.add(name)
    done = tuple(each for each in chosen.fixed if each.fix and unfit.isdisjoint(e.span.file for e in each.fix.edits))
    return Fixed(done, {file: both for file, both in texts.items() if both[0] != both[1]} if done else {})


def _within(diagnostic: Diagnostic, project: Path) -> bool:
    """Whether all places of the fix are in files of the project; arguments are none."""
    whole = project.resolve()
    edits = diagnostic.fix.edits if diagnostic.fix else ()
    return all(
        not edit.span.file.startswith("<") and Path(edit.span.file).resolve().is_relative_to(whole) for edit in edits
    )


def _write(texts: dict[Path, str]) -> None:
    for file, text in texts.items():
        try:
            replace_file(file, text.encode("utf-8"))
        except OSError as error:
            raise click.ClickException(f"`{file}` cannot be written: {error.strerror or error}") from None


def _line(diagnostic: Diagnostic) -> str:
    assert diagnostic.fix is not None
    span = diagnostic.fix.edits[0].span
    return f"{span.file}:{span.line}:{span.column}: fixed[{diagnostic.code}]: {diagnostic.fix.title}"


def unified(fixed: Fixed) -> str:
    """What a round of fixing would change, as `patch` takes it."""
    return "".join(line for file, both in fixed.texts.items() for line in _diff(file, *both))


def _diff(file: Path, before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only `\\n` ends one, as in places."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
