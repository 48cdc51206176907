"""Reads the pages of the codes: Markdown with an application that has a mistake, its report, and the fix.

A page about a change shows a file before and after it in one block, as a `diff` with all lines of the file.
"""

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
_DESCRIBE = "`flow describe -o old.json`"


@dataclass(frozen=True)
class Page:
    """A page.

    Arguments:
        code: its name.
        text: its Markdown.
        headings: its sections.
        before: the files before a change, which are described first; empty for other pages.
        files: those of the example, and the modules of the index that the page mentions and does not show itself.
        command: the arguments of `flow` for the example.
        report: the expected output; `start` to `end` is its place in the text.
        fixed: the files of the fix, which replace those of the example. Without any, a change is undone.
        fixed_command: the arguments of `flow` for the fix.
        accepted: the fix is to describe the application again, after the change.
    """

    code: str
    text: str
    headings: list[str]
    before: dict[str, str]
    files: dict[str, str]
    command: list[str]
    report: str
    start: int
    end: int
    fixed: dict[str, str]
    fixed_command: list[str]
    accepted: bool

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
    fix = text[slice(*sections["Fix"])]
    shared = _shared(text)
    changed = any(language == "diff" for language, _, _ in FENCE.findall(text))
    before = {**shared, **_section(text, *sections["Example"], removed="+")[0]} if changed else {}
    return Page(
        code=path.stem,
        text=text,
        headings=list(sections),
        before=before,
        files={**shared, **example},
        command=command,
        report=report[3],
        start=report.start(3),
        end=report.end(3),
        fixed=fixed or before,
        fixed_command=_command(fix) or command,
        accepted=changed and _DESCRIBE in fix,
    )


def _section(text: str, start: int, end: int, removed: str = "-") -> tuple[dict[str, str], re.Match[str] | None]:
    """Return the files of a section, and its last block without a name: the report.

    Arguments:
        text: the page.
        start: the start of the section.
        end: its end.
        removed: the sign of the lines of a `diff` that the files do not have: `-` after the change, `+` before it.
    """
    blocks = list(FENCE.finditer(text, start, end))
    reports = [block for block in blocks if not block[2]]
    files = {block[2]: _side(block[3], removed) if block[1] == "diff" else block[3] for block in blocks if block[2]}
    return files, reports[-1] if reports else None


def _side(diff: str, removed: str) -> str:
    """Return a file before or after its change."""
    lines = [line for line in diff.splitlines(keepends=True) if not line.startswith(removed)]
    return "".join(line if line == "\n" else line[1:] for line in lines)


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
