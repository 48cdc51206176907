"""The tokens of a job: words, numbers, strings, quoted names, variables and signs, each with its place.

Comments nest, and strings have the escapes of Spark (`SqlBaseLexer.g4`). A variable is `${path}` or `${?path}`, with a
path as in HOCON. It may be a token of its own, or a part of a string or of a quoted name. Its value never changes where
a token ends: a quote inside the value does not end the string.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.paths import PathFault, read_path
from blueprint.hocon.source import Source
from blueprint.sql.literals import escaped, string_value

VariablePath = tuple[str, ...]
Variables = Mapping[VariablePath, str]
"""The values of variables by their paths."""

_MAX_FINDINGS = 30
_SKIP = re.compile(r"(?:\s+|--(?:\\\r?\n|[^\n])*)+")
_COMMENT_SIGN = re.compile(r"/\*|\*/")
_TOKEN = re.compile(
    r"""(?P<comment>/\*)
    | (?P<variable>\$\{)
    | (?P<dollar>\$[A-Za-z]*\$)
    | (?P<raw>[rR]["'])
    | (?P<string>["'])
    | (?P<quoted>`)
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\w))
    | (?P<word>\w+)
    | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSED = {
    "'": re.compile(r"[^'\\]*(?:(?:\\.|'')[^'\\]*)*'", re.DOTALL),
    '"': re.compile(r'[^"\\]*(?:(?:\\.|"")[^"\\]*)*"', re.DOTALL),
    "`": re.compile(r"[^`]*(?:``[^`]*)*`"),
}
_VARIABLE_START = re.compile(r"\\.|\$\{(\?)?", re.DOTALL)
_BLANK = re.compile(r"\s*")
_LINE_REST = re.compile(r"[^\n]*")


class Kind(enum.Enum):
    """The kind of a token."""

    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    QUOTED = "quoted name"
    VARIABLE = "variable"
    SIGN = "sign"
    BROKEN = "broken"  # the rest of the statement cannot be read, which is reported
    END = "end"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable and its place (offsets)."""

    path: VariablePath
    optional: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its place (offsets).

    Arguments:
        kind: its kind.
        text: as written.
        start: the offset of its first character.
        end: the offset after its last character.
        value: its meaning: of a string, the characters that it stands for. Variables without a value are kept.
        spark: the text that Spark gets instead: its variables are replaced, and the values of those in strings escaped.
        known: whether all its variables have a value.
    """

    kind: Kind
    text: str
    start: int
    end: int
    value: str
    spark: str
    known: bool = True

    @property
    def upper(self) -> str:
        """The text of a word in upper case, to compare it with keywords; "" for other tokens."""
        return self.text.upper() if self.kind is Kind.WORD else ""

    @property
    def shown(self) -> str:
        """The token as findings quote it."""
        if self.kind is Kind.END:
            return "the end of the text"
        text = " ".join(self.text.split())
        return f"`{text if len(text) <= 40 else text[:40] + '…'}`"


class TooManyFindings(Exception):  # noqa: N818  # it ends the reading of a damaged text, it is not an error of this project
    """The rest of the text is not read."""


class Lexer:
    """Reads the tokens of one text.

    Arguments:
        source: the text.
        variables: the values of variables; None if they are not known yet.
    """

    def __init__(self, source: Source, variables: Variables | None = None) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.variables: list[Variable] = []
        self.comments: list[tuple[int, int]] = []
        self._text = source.text
        self._values = variables
        self._tokens: list[Token] = []

    def tokens(self) -> list[Token]:
        """Return all tokens; the last one is of the kind `END`. `findings` has the findings about them.

        Raises:
            TooManyFindings: the text has so many faults that the rest of it is not read.
        """
        at = self._skip(0)
        while at < len(self._text):
            at = self._skip(self._token(at))
        self._append(Kind.END, len(self._text), len(self._text))
        return self._tokens

    def add(self, found: Diagnostic) -> None:
        """Add a finding.

        Raises:
            TooManyFindings: there are so many that the rest of the text is not read.
        """
        self.findings.append(found)
        if len(self.findings) >= _MAX_FINDINGS:
            raise TooManyFindings

    def report(
        self, headline: str, start: int, end: int, *, also: tuple[Label, ...] = (), help: tuple[str, ...] = ()
    ) -> None:
        """Add a finding about the syntax; as for `add`."""
        self.add(finding("sql-syntax", headline, self.source.span(start, end), also=also, help=help))

    def _skip(self, at: int) -> int:
        match = _SKIP.match(self._text, at)
        if match is None:
            return at
        if "--" in match[0]:
            self.comments.append(match.span())
        return match.end()

    def _token(self, at: int) -> int:
        """Read the token at an offset, and return the offset after it."""
        match = _TOKEN.match(self._text, at)
        assert match is not None  # the last alternative matches any character
        end = match.end()
        match match.lastgroup:
            case "comment":
                return self._comment(at)
            case "variable":
                return self._lone_variable(at)
            case "dollar":
                return self._dollar(at, match[0])
            case "raw":
                return self._raw(at, match[0][1])
            case "string" | "quoted":
                return self._enclosed(at, match[0])
            case "number":
                self._append(Kind.NUMBER, at, end)
            case "word":
                self._append(Kind.WORD, at, end)
            case _:
                self._append(Kind.SIGN, at, end)
        return end

    def _append(
        self, kind: Kind, start: int, end: int, value: str | None = None, spark: str | None = None, known: bool = True
    ) -> None:
        text = self._text[start:end]
        self._tokens.append(
            Token(kind, text, start, end, text if value is None else value, text if spark is None else spark, known)
        )

    def _comment(self, at: int) -> int:
        """Skip a comment with the comments inside it."""
        depth = 0
        for sign in _COMMENT_SIGN.finditer(self._text, at):
            depth += 1 if sign[0] == "/*" else -1
            if depth == 0:
                self.comments.append((at, sign.end()))
                return sign.end()
        self.report(
            "the comment is never closed", at, at + 2, help=("close it, and each comment inside it, with `*/`",)
        )
        self._append(Kind.BROKEN, at, len(self._text))
        return len(self._text)

    def _raw(self, at: int, quote: str) -> int:
        """Read `r'...'`, which has neither escapes nor variables."""
        end = self._text.find(quote, at + 2)
        if end < 0:
            return self._unclosed(at, quote)
        self._append(Kind.STRING, at, end + 1, self._text[at + 2 : end])
        return end + 1

    def _dollar(self, at: int, tag: str) -> int:
        """Read `$tag$...$tag$`, the string of Spark for the text of functions."""
        end = self._text.find(tag, at + len(tag))
        if end < 0:
            return self._unclosed(at, tag)
        self._append(Kind.STRING, at, end + len(tag), self._text[at + len(tag) : end])
        return end + len(tag)

    def _enclosed(self, at: int, quote: str) -> int:
        """Read a string or a quoted name."""
        closed = _CLOSED[quote].match(self._text, at + 1)
        if closed is None:
            return self._unclosed(at, quote)
        end = closed.end()
        parts = self._parts(at + 1, end - 1, quote)
        if parts is None:
            self._append(Kind.BROKEN, at, end)
            return end
        value = spark = ""
        known = True
        for part in parts:
            if isinstance(part, str):
                value += part.replace("``", "`") if quote == "`" else string_value(part, quote)
                spark += part
            elif (text := self._value(part)) is None:
                value += self._text[part.start : part.end]
                known = False
            else:
                value += text
                spark += escaped(text, quote)
        self._append(Kind.QUOTED if quote == "`" else Kind.STRING, at, end, value, f"{quote}{spark}{quote}", known)
        return end

    def _parts(self, start: int, end: int, quote: str) -> list[str | Variable] | None:
        """Return the text between quotes as literal text and variables; None after a fault, which is reported."""
        parts: list[str | Variable] = []
        at = begin = start
        while match := _VARIABLE_START.search(self._text, at, end):
            at = match.end()
            if match[0][0] == "\\" and quote != "`":
                continue
            if match[0][0] == "\\":
                at = match.start() + 1
                continue
            variable = self._variable(match, end)
            if variable is None:
                return None
            parts += (self._text[begin : variable.start], variable)
            at = begin = variable.end
        return [*parts, self._text[begin:end]]

    def _lone_variable(self, at: int) -> int:
        match = _VARIABLE_START.match(self._text, at)
        assert match is not None  # the caller has seen `${`
        line_end = at + len(_LINE_REST.match(self._text, at)[0])  # type: ignore[index]  # matches always
        variable = self._variable(match, line_end)
        if variable is None:
            self._append(Kind.BROKEN, at, match.end())
            return match.end()
        value = self._value(variable)
        self._append(Kind.VARIABLE, at, variable.end, value, value, value is not None)
        return variable.end

    def _variable(self, opening: re.Match[str], limit: int) -> Variable | None:
        """Read a variable; return None after a fault, which is reported.

        Arguments:
            opening: the match of `${` or `${?`.
            limit: the offset that the variable must not go beyond.
        """
        text, at = self._text, opening.start()
        path = read_path(text, _BLANK.match(text, opening.end(), limit).end())  # type: ignore[union-attr]  # matches always
        close = text.find("}", at, limit)
        if isinstance(path, PathFault):
            if path.start == path.end:
                self.report("expected a path between `${` and `}`", at, close + 1 if close >= 0 else opening.end())
            else:
                self.report(path.message, path.start, path.end, help=path.help)
            return None
        end = _BLANK.match(text, path[1], max(limit, path[1])).end()  # type: ignore[union-attr]  # matches always
        if end >= limit or text[end] != "}":
            help = ("close it with `}`", r"write `$\{` in a string for `${` itself")
            self.report("the `${` is never closed", at, min(path[1], limit), help=help)
            return None
        variable = Variable(tuple(segment.key for segment in path[0]), opening[1] is not None, at, end + 1)
        self.variables.append(variable)
        return variable

    def _value(self, variable: Variable) -> str | None:
        if self._values is None:
            return None
        return self._values.get(variable.path, "" if variable.optional else None)

    def _unclosed(self, at: int, quote: str) -> int:
        """Report a string or quoted name that is never closed, and return the offset at which to continue.

        If an earlier string of the statement spans several lines, that is the one without its quote: it ends at the
        quote that was meant to begin the next one.
        """
        first = len(self._tokens)
        while first and self._tokens[first - 1].text != ";":
            first -= 1
        early = next(
            (
                index
                for index in range(first, len(self._tokens))
                if self._tokens[index].text.startswith(quote) and "\n" in self._tokens[index].text
            ),
            None,
        )
        if early is not None:
            at = self._tokens[early].start
            del self._tokens[early:]
            self.comments = [comment for comment in self.comments if comment[0] < at]
            self.variables = [variable for variable in self.variables if variable.start < at]
        end = at + len(_LINE_REST.match(self._text, at)[0].rstrip())  # type: ignore[index]  # matches always
        noun = "quoted name" if quote == "`" else "string"
        self.report(
            f"the {noun} is never closed",
            at,
            max(end, at + 1),
            help=(f"close it with `{quote}`" if quote != "`" else "close it with a back-quote",),
        )
        self._append(Kind.BROKEN, at, end)
        return max(end, at + 1)
