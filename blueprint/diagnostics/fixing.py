"""Apply the fixes of findings: choose compatible ones and edit texts. The caller reads and writes files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from blueprint.diagnostics.model import Diagnostic, Edit, Span

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Fixes that can be applied together.

    Arguments:
        fixed: the findings whose fixes were chosen, in their order.
        passed: the findings whose fixes overlap a chosen one.
        edits: the edits of each file, in the order of the text and without overlaps.
    """

    fixed: tuple[Diagnostic, ...]
    passed: tuple[Diagnostic, ...]
    edits: Mapping[str, tuple[Edit, ...]]


def choose(diagnostics: Iterable[Diagnostic]) -> Chosen:
    """Choose each fix as a whole unless it overlaps one chosen before. Equal edits are made once."""
    taken: dict[str, list[Edit]] = {}
    fixed, passed = [], []
    for diagnostic in diagnostics:
        if diagnostic.fix is None or not diagnostic.fix.edits:
            continue
        new = [edit for edit in diagnostic.fix.edits if edit not in taken.get(edit.span.file, ())]
        overlaps = any(_overlap(edit.span, other.span) for edit in new for other in taken.get(edit.span.file, ()))
        if overlaps or _self_overlapping(new):
            passed.append(diagnostic)
            continue
        fixed.append(diagnostic)
        for edit in new:
            taken.setdefault(edit.span.file, []).append(edit)
    ordered = {file: tuple(sorted(edits, key=lambda edit: edit.span)) for file, edits in sorted(taken.items())}
    return Chosen(tuple(fixed), tuple(passed), ordered)


def _self_overlapping(edits: Sequence[Edit]) -> bool:
    return any(_overlap(left.span, right.span) for left, right in combinations(edits, 2))


def _overlap(left: Span, right: Span) -> bool:
    """Return whether two spans share a character or begin at the same place."""
    if left.file != right.file:
        return False
    first, second = sorted((left, right), key=lambda span: (span.line, span.column))
    begins = (second.line, second.column)
    return begins < (first.end_line, first.end_column) or begins == (first.line, first.column)


class MisfitError(ValueError):
    """The text has no such place, or other text at it than the edit replaces: it was changed in the meantime."""


@dataclass(frozen=True, slots=True)
class Applied:
    """An edited text, and the lines (from 1) that each edit has written."""

    text: str
    lines: Mapping[Edit, range]


def apply(text: str, edits: Sequence[Edit]) -> Applied:
    """Make edits, and leave the rest of a text unchanged, byte for byte.

    Comments inside replaced text are kept before the replacement. Inserted lines have the line ends of the text.

    Arguments:
        text: the content of the file, with its byte order mark and line ends.
        edits: the edits in the order of the text, without overlaps.

    Returns:
        The edited text.

    Raises:
        MisfitError: a place is not in the text, or has other text than the edit replaces.
    """
    mark = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    starts = list(accumulate((len(line) + 1 for line in body.split("\n")), initial=0))
    parts, done, more, lines = [mark], 0, 0, {}
    for edit in edits:
        begin, end = _offsets(edit.span, starts, len(body))
        old = body[begin:end]
        if edit.original not in (None, old):
            raise MisfitError(f"{edit.span.file}:{edit.span.line}:{edit.span.column} is not `{edit.original}`")
        new = _replacement(old, edit, "\r\n" if "\r\n" in body else "\n")
        parts += [body[done:begin], new]
        first = edit.span.line + more
        lines[edit] = range(first, first + new.count("\n") + 1)
        more += new.count("\n") - old.count("\n")
        done = end
    return Applied("".join([*parts, body[done:]]), lines)


def _offsets(span: Span, starts: Sequence[int], length: int) -> tuple[int, int]:
    try:
        begin, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
    except IndexError:
        raise MisfitError(f"{span.file}:{span.line} does not exist") from None
    if not 0 <= begin <= end <= length or begin > starts[span.line] - 1:
        raise MisfitError(f"{span.file}:{span.line}:{span.column} does not exist")
    return begin, end


_COMMENT = re.compile(r'"""[\s\S]*?"""(?!")|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|((?:#|//)[^\n]*)')


def _replacement(old: str, edit: Edit, line_end: str) -> str:
    comments = [match[1].rstrip() for match in _COMMENT.finditer(old) if match[1]] if "\n" in old else []
    indent = " " * (edit.span.column - 1)
    kept = "".join(f"{comment}\n{indent}" for comment in comments)
    return (kept + edit.replacement).replace("\n", line_end)
