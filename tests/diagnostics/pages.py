"""Reads the pages of the codes: Markdown with an application that has a mistake, its report, and the fix."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from blueprint.diagnostics import FixKind
from blueprint.diagnostics.codes import CODES
from tests.diagnostics.specification import FENCE, HEADING

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
INDEX = DOCS / "diagnostics.md"
FOLDER = DOCS / "diagnostics"
SECTIONS = ["Why it matters", "Example", "Fix"]

_COMMAND = re.compile(r"`flow (verify[^`]*)`")


@dataclass(frozen=True)
class Page:
    """A page.

    Arguments:
        code: its name.
        text: its Markdown.
        headings: its sections.
        files: those of the example, and the modules of the index that the page mentions and does not show itself.
        command: the arguments of `flow` for the example.
        report: the expected output; `start` to `end` is its place in the text.
        fixed: the files of the fix, which replace those of the example.
        fixed_command: the arguments of `flow` for the fix.
    """

    code: str
    text: str
    headings: list[str]
    files: dict[str, str]
    command: list[str]
    report: str
    start: int
    end: int
    fixed: dict[str, str]
    fixed_command: list[str]

    def __str__(self) -> str:
        return self.code


def read_page(path: Path) -> Page:
    """Return the page of a file."""
    text = path.read_text(encoding="utf-8")
    heads = list(HEADING.finditer(text))
    bounds = [*(head.start() for head in heads), len(text)]
    sections = {head[1]: (head.end(), bounds[index + 1]) for index, head in enumerate(heads)}
    example, report = _section(text, *sections["Example"])
    fixed, _ = _section(text, *sections["Fix"])
    assert report is not None, f"{path.name} shows no report"
    command = _command(text[slice(*sections["Example"])]) or ["verify"]
    return Page(
        path.stem, text, list(sections), {**_shared(text), **example}, command, report[3],
        report.start(3), report.end(3), fixed, _command(text[slice(*sections["Fix"])]) or command,
    )  # fmt: skip


def _section(text: str, start: int, end: int) -> tuple[dict[str, str], re.Match[str] | None]:
    """Return the files of a section, and its last block without a name: the report."""
    blocks = list(FENCE.finditer(text, start, end))
    reports = [block for block in blocks if not block[2]]
    return {block[2]: block[3] for block in blocks if block[2]}, reports[-1] if reports else None


def _command(text: str) -> list[str]:
    commands = _COMMAND.findall(text)
    return shlex.split(commands[-1]) if commands else []


def _shared(text: str) -> dict[str, str]:
    """Return the modules that the index shows for all pages, as far as a page's text mentions them."""
    blocks = FENCE.finditer(INDEX.read_text(encoding="utf-8"))
    return {block[2]: block[3] for block in blocks if block[2] and f"{Path(block[2]).stem}." in text}


def summary_line(code: str) -> str:
    """Return the line below a page's title."""
    return f"{CODES[code].severity.value.capitalize()}: {CODES[code].meaning}."


def fix_rows() -> str:
    """Return the rows of the table of fixes."""
    return "".join(
        f"| {', '.join(f'`{code}`' for code in kind.codes)} | {kind.meaning} | {kind.applicability.value} |\n"
        for kind in FixKind
    )


def rows(codes: list[str]) -> str:
    """Return the rows of the index for the codes of a family."""
    return "".join(
        f"| [`{code}`](diagnostics/{code}.md) | {CODES[code].severity.value} | {CODES[code].meaning} |\n"
        for code in codes
    )
