"""Source excerpts: lines with their numbers, underlined spans, and the messages of labels below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from blueprint.diagnostics.model import Label, Sources
from blueprint.diagnostics.paint import Paint
from blueprint.diagnostics.text import cells, shown, window, wrapped


@dataclass(frozen=True, slots=True)
class Mark:
    """A label to draw: the primary one with carets, the others with dashes."""

    label: Label
    primary: bool


@dataclass(frozen=True, slots=True)
class _Underline:
    """A mark on one displayed line: columns from 0, the end exclusive.

    A mark that continues on the next line ends with an ellipsis after the last character of the line.
    """

    start: int
    end: int
    message: str
    primary: bool
    continues: bool = False

    def within(self, first: int, cut: int) -> _Underline:
        """Return the mark relative to a window of the line, from column `first` to `cut`."""
        start = self.start - first
        return replace(self, start=max(start, 0), end=max(min(self.end, cut) - first, start + 1))

    def drawn(self, column: int, paint: Paint) -> str:
        """Return the characters of the mark from a column on."""
        length = self.end - max(self.start, column)
        sign = "^" if self.primary else "-"
        return paint.mark(
            f"{sign * (length - 1)}\u2026" if self.continues and length > 1 else sign * length, self.primary
        )


def gutter_width(marks: Iterable[Mark]) -> int:
    """Return the number of digits of the largest line number."""
    return max((len(str(mark.label.span.line)) for mark in marks), default=1)


def excerpts(marks: tuple[Mark, ...], sources: Sources, *, gutter: int, width: int, paint: Paint) -> Iterator[str]:
    """Yield the lines of all excerpts: one excerpt per file, in the order in which the files first appear."""
    files = list(dict.fromkeys(mark.label.span.file for mark in marks))
    for number, file in enumerate(files):
        in_file = [mark for mark in marks if mark.label.span.file == file]
        place = in_file[0].label.span
        arrow = "-->" if number == 0 else ":::"
        yield f"{' ' * gutter}{paint.frame(arrow)} {shown(file)}:{place.line}:{place.column}"
        yield from _excerpt(in_file, sources, gutter=gutter, width=width, paint=paint)


def _excerpt(marks: list[Mark], sources: Sources, *, gutter: int, width: int, paint: Paint) -> Iterator[str]:
    bar = f"{' ' * gutter} {paint.frame('|')}"
    by_line = sorted(marks, key=lambda mark: (mark.label.span.line, mark.label.span.column))
    if sources.line(by_line[0].label.span.file, by_line[0].label.span.line) is not None:
        yield bar
    previous = None
    for number, group in groupby(by_line, key=lambda mark: mark.label.span.line):
        text = sources.shown(marks[0].label.span.file, number)
        if previous is not None and number > previous + 1:
            yield f"{' ' * gutter}{paint.frame('...')}"
        previous = number
        if text is None:  # the text is not available: show only the message of the place
            messages = [mark.label.message for mark in group if mark.label.message]
            yield from (f"{bar} {line}" for message in messages for line in wrapped(message, width - gutter - 3))
            continue
        for first, cut, underlines in _views(text, list(group), width - gutter - 3):
            yield f"{paint.frame(f'{number:>{gutter}} |')} {_cut(shown(text), first, cut)}".rstrip()
            yield from (f"{bar} {line}".rstrip() for line in _underlined(underlines, width - gutter - 3, paint))


def _views(text: str, marks: list[Mark], width: int) -> Iterator[tuple[int, int, list[_Underline]]]:
    """Yield the windows of a line: one with all its marks if it fits, otherwise one for each mark."""
    spots = [_underline(text, mark) for mark in marks]
    start, end = min(spot.start for spot in spots), max(spot.end for spot in spots)
    total = max(cells(shown(text)), end)  # a caret may be after the last character
    if total > width and end - start > width - 2 and len(spots) > 1:
        for mark in marks:
            yield from _views(text, [mark], width)
        return
    first, cut = window(width, total, start, end)
    yield first, cut, [spot.within(first, cut) for spot in spots]


def _underline(text: str, mark: Mark) -> _Underline:
    span = mark.label.span
    end_column = span.end_column if span.end_line == span.line else len(text.rstrip()) + 1
    start = cells(shown(text[: span.column - 1]))
    end = cells(shown(text[: max(end_column - 1, 0)]))
    continues = span.end_line > span.line
    return _Underline(start, max(end, start + 1) + continues, mark.label.message, mark.primary, continues)


def _cut(text: str, first: int, end: int) -> str:
    """Return the columns `first` to `end` of a line, with an ellipsis in place of the parts that were cut off."""
    total = cells(text)
    inner_first, inner_end = first + (first > 0), end - (end < total)
    kept, column = [], 0
    for character in text:
        size = cells(character)
        if inner_first <= column and column + size <= inner_end and (size or column > inner_first):
            kept.append(character)
        elif column < inner_first < column + size or column < inner_end < column + size:
            kept.append(" ")  # half of a wide character
        column += size
    return "\u2026" * (first > 0) + "".join(kept) + "\u2026" * (end < total)


def _underlined(spots: list[_Underline], width: int, paint: Paint) -> Iterator[str]:
    """Yield the row of underlines and the rows of messages.

    The message of the last underline follows it if it fits; the others are below, from the last to the first.
    """
    row, column = "", 0
    for spot in spots:
        start = max(spot.start, column)
        if start < spot.end:
            row += " " * (start - column) + spot.drawn(start, paint)
            column = spot.end
    waiting = [spot for spot in spots if spot.message]
    if waiting and waiting[-1] is spots[-1] and column + 1 + cells(shown(spots[-1].message)) <= width:
        row += " " + paint.message(shown(spots[-1].message), spots[-1].primary)
        waiting.pop()
    yield row
    while waiting:
        spot = waiting.pop()
        yield from _below(spot, waiting, width, paint)


def _below(spot: _Underline, waiting: list[_Underline], width: int, paint: Paint) -> Iterator[str]:
    """Yield a message below its underline, with bars for the messages still to come. It is moved left if necessary."""
    start, need = spot.start, cells(shown(spot.message))
    if need > width - start:
        start = width - need if need <= width else min(start, max(0, width - 40))
    lines = wrapped(spot.message, width - start)
    for line in lines:
        row, column = "", 0
        for other in waiting:
            if column <= other.start < start:
                row += " " * (other.start - column) + paint.mark("|", other.primary)
                column = other.start + 1
        yield row + " " * (start - column) + paint.message(line, spot.primary)
