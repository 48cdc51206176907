"""Comments that silence a finding where it stands: `// flow: allow contract-risk (because the archive is coarse)`.

Codes are separated by commas; the reason, in parentheses or not, begins with the first word after them.
Such a comment holds for its own line, and alone on a line for the next one that is no comment. It is looked for in the
text, line by line: parsers pass comments over, and findings point into files of several formats, Python among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from blueprint.diagnostics import CODES, Diagnostic, FixKind, Sources, Span, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.spelling import did_you_mean, misspelling_of

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ALLOW = re.compile(
    rf"(?:#|//)[ \t]*flow:[ \t]*allow\b[ \t:]*({_NAME.pattern}(?:[ \t]*,[ \t]*(?!because\b){_NAME.pattern})*)"
)
_COMMENT = re.compile(r"[ \t]*(?:#|//)")


@dataclass(frozen=True, slots=True)
class Allowance:
    """A code that a comment allows: `line` is the one it holds for, `span` where the code stands."""

    code: str
    line: int
    span: Span


def allowances(files: Iterable[str], sources: Sources) -> tuple[list[Allowance], list[Diagnostic]]:
    """What comments allow, and a finding for each that names no code.

    Arguments:
        files: as in `Span.file`.
    """
    found, wrong = [], []
    for file in sorted(set(files)):
        for allowance in _in_file(file, sources.lines(file)):
            if allowance.code in CODES:
                found.append(allowance)
            else:
                wrong.append(unknown_code(allowance.code, allowance.span))
    return found, wrong


def _in_file(file: str, lines: list[str]) -> Iterator[Allowance]:
    for number, line in enumerate(lines, start=1):
        if "flow:" not in line:
            continue
        for comment in _ALLOW.finditer(line):
            if _quoted(line[: comment.start()]):
                continue
            target = _next_line(lines, number) if not line[: comment.start()].strip() else number
            for name in _NAME.finditer(line, comment.start(1), comment.end(1)):
                yield Allowance(name[0], target, Span(file, number, name.start() + 1, number, name.end() + 1))


def _quoted(text: str) -> bool:
    """Whether a text ends inside of a quoted string."""
    return len(re.findall(r'(?<!\\)"', text)) % 2 == 1


def _next_line(lines: list[str], number: int) -> int:
    """The first line behind `number` that is no comment."""
    while number < len(lines) and _COMMENT.match(lines[number]):
        number += 1
    return number + 1


def unknown_code(name: str, span: Span) -> Diagnostic:
    """The finding for a name that is no code."""
    meant = misspelling_of(name, CODES)
    return finding(
        "unknown-code",
        f"there is no finding with the code `{name}`",
        span,
        help=did_you_mean(name, CODES) or ("`flow explain` lists all codes",),
        fix=rewrite(FixKind.RENAME_CODE, (span, name, meant)) if meant else None,
    )
