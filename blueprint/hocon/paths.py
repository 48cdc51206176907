"""Path expressions: the keys of HOCON objects, and the paths inside `${...}`."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.hocon import lexer
from blueprint.hocon.strings import StringFault

_MAX_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class Segment:
    """One key of a path and its place (offsets)."""

    key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PathFault:
    """A fault of a path: its message and place (offsets)."""

    message: str
    start: int
    end: int
    help: tuple[str, ...] = ()


def read_path(text: str, at: int) -> tuple[list[Segment], int] | PathFault:
    """Read the path expression that begins at `at`.

    Adjacent words and quoted strings form one key. `.` outside quotes separates keys. White space between words is
    part of the key, white space around the path is not (HOCON specification, "Path expressions").

    Returns:
        Its keys and the offset after it (before any white space), or the fault.
    """
    start = at
    builder = _Builder(at)
    while True:
        if at - start > _MAX_LENGTH:
            return PathFault(f"the key is longer than {_MAX_LENGTH} characters", start, start + 1)
        if text[at : at + 1] == '"':
            string = lexer.quoted(text, at)
            if isinstance(string, StringFault):
                return PathFault(string.message, string.start, string.end, (string.help,))
            builder.add(string[0], at, string[1], quoted=True)
            at = string[1]
        elif word := lexer.unquoted.match(text, at, at + 2 * _MAX_LENGTH):
            builder.words(word[0], at)
            at = word.end()
        else:
            break
        gap = lexer.blank.match(text, at)
        if gap is None or not gap[0]:
            continue
        after = text[gap.end() : gap.end() + 1]
        if after != '"' and lexer.unquoted.match(text, gap.end()) is None:
            break
        builder.add(gap[0], at, gap.end(), quoted=False)
        at = gap.end()
    if at == start:
        return PathFault("expected a key", at, at)
    return builder.done(at)


class _Builder:
    """Collects the keys of one path."""

    def __init__(self, at: int) -> None:
        self.segments: list[Segment] = []
        self.key = ""
        self.quoted = False
        self.start = at
        self.fault: PathFault | None = None

    def add(self, piece: str, start: int, end: int, *, quoted: bool) -> None:
        """Add a piece to the current key."""
        if not self.key and not self.quoted:
            self.start = start
        self.key += piece
        self.quoted = self.quoted or quoted

    def words(self, piece: str, at: int) -> None:
        """Add unquoted text, whose dots end keys."""
        for index, part in enumerate(piece.split(".")):
            if index:
                self._end(at - 1, dot=at - 1)
                self.start = at
            if part:
                self.add(part, at, at + len(part), quoted=False)
            at += len(part) + 1

    def done(self, at: int) -> tuple[list[Segment], int] | PathFault:
        """Return the keys of the path and the offset `at` of its end, or the fault."""
        self._end(at, dot=self.start - 1)
        return self.fault or (self.segments, at)

    def _end(self, at: int, *, dot: int) -> None:
        if not self.key and not self.quoted and self.fault is None:
            help = ('write `""` for an empty key, or remove the dot',)
            self.fault = PathFault("empty key in a path", dot, dot + 1, help)
        self.segments.append(Segment(self.key, self.start, at))
        self.key, self.quoted = "", False
