"""A position in the tokens of a job: what is next, what was expected, and where to continue after a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blueprint.diagnostics import Label, Span
from blueprint.hocon.source import Source
from blueprint.spelling import did_you_mean
from blueprint.sql.literals import RESERVED
from blueprint.sql.statements import Name, Word
from blueprint.sql.tokens import Kind, Lexer, Token, TooManyFindings, Variables

CLAUSES = {
    "IDENTIFIED": "IDENTIFIED BY",
    "TRIGGER": "TRIGGER",
    "OUTPUT": "OUTPUT MODE",
    "PARTITIONED": "PARTITIONED ON",
    "OPTIONS": "OPTIONS",
}
"""The clauses of `SAVE STREAM` after the provider, by their first words."""

STARTS = {"CREATE": "STREAM", "SAVE": "STREAM", "STOP": "STREAM", "SHOW": "STREAMS"}
"""The first two words of statements that are not Spark's."""


class Refused(Exception):  # noqa: N818  # it ends the reading of a statement, it is not an error of this project
    """The rest of the statement is not read; the reason is reported."""


class Cursor:
    """Reads tokens from left to right.

    Arguments:
        source: the text.
        variables: the values of variables; None if they are not known yet.
    """

    def __init__(self, source: Source, variables: Variables | None) -> None:
        self.source = source
        self.lexer = Lexer(source, variables)
        self.at = 0
        self.tokens_read: list[Token] = []

    def start(self) -> bool:
        """Read the tokens; return whether all of them could be read."""
        try:
            self.tokens_read = self.lexer.tokens()
        except TooManyFindings:
            return False
        return True

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens_read[self.at]

    def take(self) -> Token:
        """Return the next token and go past it."""
        token = self.token
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def following(self) -> Token:
        """Return the token after the next one."""
        return self.tokens_read[min(self.at + 1, len(self.tokens_read) - 1)]

    def span(self, first: Token, last: Token | None = None) -> Span:
        """Return the place from a token to a token, both included."""
        return self.source.span(first.start, (last or first).end)

    def span_from(self, first: Token) -> Span:
        """Return the place from a token up to the last token that was taken."""
        return self.source.span(first.start, self.tokens_read[max(self.at - 1, 0)].end)

    def refuse(
        self, headline: str, at: Token | None = None, *, also: tuple[Label, ...] = (), help: Iterable[str] = ()
    ) -> Refused:
        """Report a mistake of the syntax, and return the exception to raise.

        Arguments:
            headline: what is wrong.
            at: the token that is wrong; default: the next one.
            also: further places.
            help: what to do.
        """
        token = at or self.token
        if token.kind is not Kind.BROKEN:  # the mistake is reported where the text could not be read
            start, end = self._place(token)
            self.lexer.report(headline, start, end, also=also, help=tuple(help))
        return Refused()

    def expected(self, what: str, *, help: Iterable[str] = ()) -> Refused:
        """Report that the next token is not what was expected, and return the exception to raise."""
        return self.refuse(f"expected {what}, found {self.found}", help=help)

    def is_end(self) -> bool:
        """Return whether the statement ends here."""
        return self.token.kind is Kind.END or self.is_sign(";")

    def is_sign(self, sign: str) -> bool:
        """Return whether the next token is this sign."""
        return self.token.kind is Kind.SIGN and self.token.text == sign

    def is_statement(self) -> bool:
        """Return whether one of the statements that are not Spark's begins here."""
        second = STARTS.get(self.token.upper)
        return second is not None and self.following().upper == second

    def sign(self, sign: str, what: str = "") -> Token:
        """Take a sign.

        Raises:
            Refused: it is not the next token.
        """
        if not self.is_sign(sign):
            raise self.expected(what or f"`{sign}`")
        return self.take()

    def keyword(self, word: str, *, help: Sequence[str] = ()) -> Token:
        """Take a keyword.

        Raises:
            Refused: it is not the next token.
        """
        if self.token.upper != word:
            raise self.expected(f"`{word}`", help=help or self.meant((word,)))
        return self.take()

    def word(self, what: str) -> Word:
        """Take a name without qualifiers, in back-quotes or not.

        Arguments:
            what: what it is the name of, for messages.

        Raises:
            Refused: the next token is not a name.
        """
        token = self.token
        if token.kind is Kind.QUOTED and not token.value and token.known:
            raise self.refuse(f"the name of {what} is empty")
        if token.kind is Kind.STRING:
            raise self.expected(f"the name of {what}", help=("write a name without quotes, or in back-quotes",))
        if token.kind not in (Kind.WORD, Kind.QUOTED, Kind.VARIABLE):
            raise self.expected(f"the name of {what}")
        if token.upper in RESERVED:
            raise self.expected(f"the name of {what}", help=(f"put `{token.text}` in back-quotes if it is the name",))
        self.take()
        return Word(token.value, self.span(token), token.known)

    def name(self, what: str) -> Name:
        """Take a name with qualifiers; as for `word`."""
        first = self.token
        parts = [self.word(what)]
        while self.is_sign("."):
            self.take()
            parts.append(self.word(what))
        if self.is_sign("-") or self.is_sign("/"):
            found = self.token.text
            raise self.refuse(
                f"the name of {what} has a `{found}`",
                help=("put a name with other characters than letters, digits and `_` in back-quotes",),
            )
        return Name(tuple(parts), self.span_from(first))

    def meant(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return help with the keywords that are similar to the next token."""
        return did_you_mean(self.token.upper, words) if self.token.upper else ()

    def begins_line(self) -> bool:
        """Return whether the next token is the first one of its line."""
        text, start = self.source.text, self.token.start
        return not text[text.rfind("\n", 0, start) + 1 : start].strip()

    def skip_statement(self) -> None:
        """Go to the end of the statement, or to a statement of a job that begins a line."""
        while not (self.is_end() or (self.is_statement() and self.begins_line())):
            self.take()

    @property
    def found(self) -> str:
        """The next token as messages quote it."""
        return "the end of the statement" if self.is_end() else self.token.shown

    def _place(self, token: Token) -> tuple[int, int]:
        """Return the place of a token; for the end, the place of the last character before it."""
        if token.kind is not Kind.END and not (token.kind is Kind.SIGN and token.text == ";"):
            return token.start, token.end
        index = self.tokens_read.index(token)
        end = self.tokens_read[index - 1].end if index else token.start
        return max(end - 1, 0), end
