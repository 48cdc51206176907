"""Applying the fixes that findings carry: which go together, and what a text becomes. Pure; files are the caller's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from blueprint.diagnostics.model import Diagnostic, Edit, Span

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Fixes that can be made together.

    Arguments:
        fixed: the findings whose fixes were taken, in their order; passed: those whose fixes touch one that was.
        edits: by file, in the order of the text, none overlapping another.
    """

    fixed: tuple[Diagnostic, ...]
    passed: tuple[Diagnostic, ...]
    edits: Mapping[str, tuple[Edit, ...]]


def choose(diagnostics: Iterable[Diagnostic]) -> Chosen:
    """Take each fix whole, unless it touches one that was taken before; the same edit twice is one."""
    taken: dict[str, list[Edit]] = {}
    fixed, passed = [], []
    for diagnostic in diagnostics:
        if diagnostic.fix is None or not diagnostic.fix.edits:
            continue
        new = [edit for edit in diagnostic.fix.edits if edit not in taken.get(edit.span.file, ())]
        if any(_touch(edit.span, other.span) for edit in new for other in taken.get(edit.span.file, ())) or _tangled(
            new
        ):
            passed.append(diagnostic)
            continue
        fixed.append(diagnostic)
        for edit in new:
            taken.setdefault(edit.span.file, []).append(edit)
    ordered = {file: tuple(sorted(edits, key=lambda edit: edit.span)) for file, edits in sorted(taken.items())}
    return Chosen(tuple(fixed), tuple(passed), ordered)


def _tangled(edits: Sequence[Edit]) -> bool:
    return any(_touch(one.span, two.span) for index, one in enumerate(edits) for two in edits[index + 1 :])


def _touch(one: Span, two: Span) -> bool:
    """Whether two places share a character, or begin at the same one."""
    if one.file != two.file:
        return False
    first, second = sorted((one, two), key=lambda span: (span.line, span.column))
    begins = (second.line, second.column)
    return begins < (first.end_line, first.end_column) or begins == (first.line, first.column)


class MisfitError(ValueError):
    """An edit's place is not in the text, or not with what the edit replaces: it was changed since."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A text with edits made, and the lines of it (from 1) that each edit has written on."""

    text: str
    lines: Mapping[Edit, range]


def apply(text: str, edits: Sequence[Edit]) -> Applied:
    """Make the edits; all else stays as it is, to the byte.

    Arguments:
        text: as it stands in the file, with byte order mark and line ends of either kind.
        edits: in the order of the text, none overlapping another.

    Comments inside what is replaced are kept in front of it; lines that are put in end as those of the text do.

    Raises:
        MisfitError: a place is not in the text, or has another text.
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
        raise MisfitError(f"{span.file}:{span.line} is not there") from None
    if not 0 <= begin <= end <= length or begin > starts[span.line] - 1:
        raise MisfitError(f"{span.file}:{span.line}:{span.column} is not there")
    return begin, end


_COMMENT = re.compile(r'"""[\s\S]*?"""(?!")|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|((?:#|//)[^\n]*)')


def _replacement(old: str, edit: Edit, line_end: str) -> str:
    comments = [found[1].rstrip() for found in _COMMENT.finditer(old) if found[1]] if "\n" in old else []
    indent = " " * (edit.span.column - 1)
    kept = "".join(f"{comment}\n{indent}" for comment in comments)
    return (kept + edit.replacement).replace("\n", line_end)
