"""Comments that silence findings: `// flow: allow contract-risk (because the archive is coarse)`.

Codes are separated by commas. The reason, in parentheses or not, begins with the first word after them. Such a comment
applies to its own line; alone on a line, it applies to the next line that is not a comment. Files are searched as text,
line by line, because parsers skip comments, and because findings point into files of several formats, including Python.
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
    rf"(?:#|//|--)[ \t]*flow:[ \t]*allow\b[ \t:]*({_NAME.pattern}(?:[ \t]*,[ \t]*(?!because\b){_NAME.pattern})*)"
)
_COMMENT = re.compile(r"[ \t]*(?:#|//|--)")


@dataclass(frozen=True, slots=True)
class Allowance:
    """A code that a comment allows.

    Arguments:
        code: of the findings that the comment silences.
        line: the line whose findings it silences, from 1.
        span: of the code in the comment.
    """

    code: str
    line: int
    span: Span


def allowances(files: Iterable[str], sources: Sources) -> tuple[list[Allowance], list[Diagnostic]]:
    """Return the allowances in comments, and a finding for each name in a comment that is not a code.

    Arguments:
        files: to search, named as in `Span.file`.
        sources: their texts.
    """
    allowed, unknown_codes = [], []
    for file in sorted(set(files)):
        for allowance in _allowances_in(file, sources.lines(file)):
            if allowance.code in CODES:
                allowed.append(allowance)
            else:
                unknown_codes.append(unknown_code(allowance.code, allowance.span))
    return allowed, unknown_codes


def _allowances_in(file: str, lines: list[str]) -> Iterator[Allowance]:
    for number, line in enumerate(lines, start=1):
        if "flow:" not in line:
            continue
        for comment in _ALLOW.finditer(line):
            if _ends_in_quotes(line[: comment.start()]):
                continue
            target = _next_line(lines, number) if not line[: comment.start()].strip() else number
            for name in _NAME.finditer(line, comment.start(1), comment.end(1)):
                yield Allowance(name[0], target, Span(file, number, name.start() + 1, number, name.end() + 1))


def _ends_in_quotes(text: str) -> bool:
    """Return whether a text ends inside a quoted string."""
    return len(re.findall(r'(?<!\\)"', text)) % 2 == 1


def _next_line(lines: list[str], number: int) -> int:
    """Return the number of the first line after `number` that is not a comment."""
    while number < len(lines) and _COMMENT.match(lines[number]):
        number += 1
    return number + 1


def unknown_code(name: str, span: Span) -> Diagnostic:
    """Return the finding for a name that is not a code."""
    meant = misspelling_of(name, CODES)
    return finding(
        "unknown-code",
        f"unknown finding code `{name}`",
        span,
        help=did_you_mean(name, CODES) or ("`flow explain` lists all codes",),
        fix=rewrite(FixKind.RENAME_CODE, (span, name, meant)) if meant else None,
    )
