"""One mistake put into a sound application gives exactly one finding, at its place; the table is `mistakes.md`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from blueprint.verification.verify import Verification, verify
from streamlets.project.catalog import ProjectCatalog

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
APPLICATIONS = {"dense": HERE / "dense", "flights": EXAMPLES / "flights", "sensors": EXAMPLES / "sensors"}
NOT_COPIED = shutil.ignore_patterns(".flow", "out", "__pycache__")
_CELL = re.compile(r"(?<!\\)\|")


class Mistake(NamedTuple):
    """A row: the first `old` in a file of an application becomes `new`, and `code` is found at `place`."""

    application: str
    file: str
    old: str
    new: str
    code: str
    place: str

    def __str__(self) -> str:
        return f"{self.code} {self.place}"


def mistakes() -> Iterator[Mistake]:
    """Yield the rows of all tables."""
    for line in (HERE / "mistakes.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| application ", "| --- ")):
            yield Mistake(*(_text(cell) for cell in _CELL.split(line)[1:-1]))


def _text(cell: str) -> str:
    """Return what a cell says: code without its quotes, `⏎` as the end of a line; blanks inside the quotes stay."""
    cell = cell.strip()
    if cell.startswith("`"):
        cell = cell[1:-1]
    return cell.replace("\\|", "|").replace("⏎", "\n")


MISTAKES = list(mistakes())


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(directory: Path) -> Verification:
    """Return what is found in an application, as `flow verify` in its folder does."""
    return verify("blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=directory)


def test_the_table_is_large() -> None:
    """Sixty mistakes at least, of forty kinds, in blueprints, includes, schemas and Python; none is there twice."""
    assert len(set(MISTAKES)) == len(MISTAKES) >= 60
    assert len({mistake.code for mistake in MISTAKES}) >= 40
    assert {Path(mistake.file).suffix for mistake in MISTAKES} == {".conf", ".avsc", ".py"}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_without_a_mistake_there_is_nothing_to_say(application: str, workshop: Path) -> None:
    """The applications are sound."""
    shutil.copytree(APPLICATIONS[application], workshop, dirs_exist_ok=True, ignore=NOT_COPIED)
    assert verified(workshop).diagnostics == ()


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_one_mistake_gives_one_finding(mistake: Mistake, workshop: Path) -> None:
    """Exactly one finding, with the code of the mistake and the place where it was made."""
    shutil.copytree(APPLICATIONS[mistake.application], workshop, dirs_exist_ok=True, ignore=NOT_COPIED)
    file = workshop / mistake.file
    text = file.read_text(encoding="utf-8")
    assert mistake.old in text
    file.write_text(text.replace(mistake.old, mistake.new, 1), encoding="utf-8")
    places = [(finding.code, finding.primary and finding.primary.span) for finding in verified(workshop).diagnostics]
    reported = [(code, f"{span.file}:{span.line}:{span.column}" if span else "") for code, span in places]
    assert reported == [(mistake.code, mistake.place)]
