"""The grammar of jobs: reads a text into statements, and reports one finding for each mistake.

After a mistake, reading continues after the next `;`. The clauses of `SAVE STREAM` after the provider may be in any
order. The grammar comes from PSTL (`PstlSqlBase.g4`) and its documentation, which lists a table's columns, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.source import Source
from blueprint.spelling import did_you_mean
from blueprint.sql.cursor import CLAUSES, STARTS, Cursor, Refused
from blueprint.sql.intervals import read_trigger
from blueprint.sql.lists import read_columns, read_options, report_duplicates
from blueprint.sql.spark_statements import STATEMENTS, refusal
from blueprint.sql.statements import (
    OUTPUT_MODES,
    CreateStream,
    Name,
    Option,
    SaveStream,
    ShowStreams,
    SparkSql,
    Statement,
    StopStream,
    TriggerClause,
    Word,
)
from blueprint.sql.tokens import Kind, Token, TooManyFindings, Variable, Variables


@dataclass(frozen=True, slots=True)
class Script:
    """A text of statements.

    Arguments:
        statements: the statements that could be read.
        findings: the mistakes.
        variables: the variables in the parts of the text that could be read.
    """

    statements: tuple[Statement, ...]
    findings: tuple[Diagnostic, ...]
    variables: tuple[Variable, ...]


def parse(source: Source, variables: Variables | None = None) -> Script:
    """Read the statements of a text.

    Arguments:
        source: the text.
        variables: the values of variables; None if they are not known yet. Then only the syntax is checked.
    """
    parser = _Parser(source, variables)
    statements = parser.statements()
    lexer = parser.cursor.lexer
    findings = sorted(lexer.findings, key=lambda diagnostic: diagnostic.sort_key)
    return Script(tuple(statements), tuple(findings), tuple(lexer.variables))


class _Clauses:
    """The clauses of a `SAVE STREAM` as they are read; the place of each is kept to report the second of two."""

    def __init__(self) -> None:
        self.query: Name | None = None
        self.trigger: TriggerClause | None = None
        self.output_mode: Word | None = None
        self.partitioned_on: tuple[Word, ...] = ()
        self.options: tuple[Option, ...] = ()
        self.places: dict[str, Token] = {}


class _Parser:
    def __init__(self, source: Source, variables: Variables | None) -> None:
        self.cursor = Cursor(source, variables)

    def statements(self) -> list[Statement]:
        """Return the statements that could be read."""
        statements: list[Statement] = []
        cursor = self.cursor
        if not cursor.start():
            return statements
        with contextlib.suppress(TooManyFindings):
            while cursor.token.kind is not Kind.END:
                if cursor.is_sign(";"):
                    cursor.take()
                    continue
                first = cursor.at
                with contextlib.suppress(Refused):
                    statement = self._statement()
                    statements += (statement,) if statement is not None else ()
                    continue
                cursor.at = max(cursor.at, first + 1)  # a refused first word must not be read again
                cursor.skip_statement()
        return statements

    def _statement(self) -> Statement | None:
        """Return the next statement; None if a job must not have it, which is reported.

        Raises:
            Refused: it cannot be read, which is reported.
        """
        cursor, first = self.cursor, self.cursor.token
        match first.upper:
            case "CREATE" if cursor.following().upper == "STREAM":
                return self._create()
            case "SAVE" | "STOP":
                cursor.take()
                cursor.keyword("STREAM")
                return self._save(first) if first.upper == "SAVE" else self._stop(first)
            case "SHOW" if cursor.following().upper == "STREAMS":
                cursor.take()
                cursor.take()
                statement = ShowStreams(cursor.span_from(first))
                self._end("`;`")
                return statement
        return self._spark_sql()

    # Statements

    def _create(self) -> CreateStream:
        cursor = self.cursor
        first = cursor.take()
        cursor.take()
        name = cursor.word("the stream")
        if cursor.is_sign("."):
            raise cursor.refuse(
                "the name of a stream must not have a database", help=("a stream is a temporary view of the job",)
            )
        columns = read_columns(self.cursor, types=True) if cursor.is_sign("(") else ()
        cursor.keyword("FROM")
        provider = cursor.name("the provider")
        options: tuple[Option, ...] = ()
        places: dict[str, Token] = {}
        while cursor.token.upper == "OPTIONS":
            self._once("OPTIONS", places)
            options = read_options(self.cursor)
        statement = CreateStream(name, columns, provider, options, cursor.span_from(first))
        self._end("`;`" if places else "`OPTIONS` or `;`", () if places else ("OPTIONS",))
        return statement

    def _save(self, first: Token) -> SaveStream:
        cursor = self.cursor
        table = cursor.name("the table")
        columns = read_columns(self.cursor, types=False) if cursor.is_sign("(") else ()
        cursor.keyword("TO")
        provider = cursor.name("the provider")
        clauses = _Clauses()
        while (read := self._clause_readers().get(cursor.token.upper)) is not None:
            self._once(CLAUSES[cursor.token.upper], clauses.places)
            read(clauses)
        statement = SaveStream(
            table=table, columns=columns, provider=provider, query=clauses.query, trigger=clauses.trigger,
            output_mode=clauses.output_mode, partitioned_on=clauses.partitioned_on, options=clauses.options,
            span=cursor.span_from(first),
        )  # fmt: skip
        missing = [clause for clause in CLAUSES.values() if clause not in clauses.places]
        self._end(", ".join(f"`{clause}`" for clause in missing) + (" or `;`" if missing else "`;`"), tuple(CLAUSES))
        return statement

    def _stop(self, first: Token) -> StopStream:
        query = self.cursor.name("the query")
        statement = StopStream(query, self.cursor.span_from(first))
        self._end("`;`")
        return statement

    def _spark_sql(self) -> SparkSql | None:
        cursor, first = self.cursor, self.cursor.token
        self._check_first_word(first)
        tokens: list[Token] = []
        while not cursor.is_end():
            if cursor.token.kind is Kind.BROKEN:
                raise Refused
            if tokens and cursor.is_statement() and cursor.begins_line():
                self._missing_end()
                break
            tokens.append(cursor.take())
        words = [token.upper for token in tokens if token.kind is not Kind.SIGN]
        fault = refusal(words)
        if fault is not None:
            headline, help = fault
            cursor.lexer.add(finding("sql-statement", headline, cursor.span(first), help=(help,)))
            if words[:1] == ["BEGIN"]:  # the `;` inside a script are not the ends of statements
                cursor.at = len(cursor.tokens_read) - 1
            return None
        text, places = self._text(tokens)
        span = cursor.span(first, tokens[-1])
        view, function = (_defined(cursor, tokens, noun) for noun in ("VIEW", "FUNCTION"))
        return SparkSql(text, span, view, function, words[:1] == ["DECLARE"], words[1:2] == ["OR"], places)

    def _check_first_word(self, first: Token) -> None:
        cursor = self.cursor
        second = STARTS.get(first.upper)
        following = cursor.following()
        if second is not None and following.upper and did_you_mean(following.upper, (second,)):
            spark = ("VIEW", "VIEWS", "TABLE", "TABLES", "SCHEMA", "SCHEMAS")
            if following.upper not in spark:
                cursor.take()
                raise cursor.expected(f"`{second}`", help=(f"did you mean `{second}`?",))
        if first.upper in STATEMENTS or first.text == "(" or first.kind is Kind.BROKEN:
            return
        known = (*STARTS, *STATEMENTS)
        if following.upper == "STREAM" and (close := did_you_mean(first.upper, ("CREATE", "SAVE", "STOP"))):
            known_help: Sequence[str] = close
        else:
            known_help = cursor.meant(known) or (
                "a job has `CREATE STREAM`, `SAVE STREAM`, and statements of Spark SQL",
            )
        raise cursor.expected("a statement", help=known_help)

    # Clauses

    def _clause_readers(self) -> dict[str, Callable[[_Clauses], None]]:
        return {
            "IDENTIFIED": self._identified,
            "TRIGGER": self._trigger,
            "OUTPUT": self._output_mode,
            "PARTITIONED": self._partitioned,
            "OPTIONS": self._option_clause,
        }

    def _once(self, clause: str, places: dict[str, Token]) -> None:
        """Take the first word of a clause; refuse a clause that the statement has already."""
        token = self.cursor.token
        if clause in places:
            also = (Label(self.cursor.span(places[clause]), "first written here"),)
            raise self._duplicate(f"duplicate clause `{clause}`", token, also, "remove one of them")
        places[clause] = self.cursor.take()

    def _identified(self, clauses: _Clauses) -> None:
        self.cursor.keyword("BY")
        clauses.query = self.cursor.name("the query")

    def _trigger(self, clauses: _Clauses) -> None:
        clauses.trigger = read_trigger(self.cursor, clauses.places["TRIGGER"])

    def _output_mode(self, clauses: _Clauses) -> None:
        cursor = self.cursor
        cursor.keyword("MODE")
        token = cursor.token
        modes = tuple(mode.upper() for mode in OUTPUT_MODES)
        variable = token.kind is Kind.VARIABLE and (not token.known or token.value.upper() in modes)
        if token.upper not in modes and not variable:
            raise cursor.expected("`APPEND`, `COMPLETE` or `UPDATE`", help=cursor.meant(modes))
        cursor.take()
        clauses.output_mode = Word(token.value.lower(), cursor.span(token), token.known)

    def _partitioned(self, clauses: _Clauses) -> None:
        cursor = self.cursor
        cursor.keyword("ON", help=("did you mean `ON`?",) if cursor.token.upper == "BY" else ())
        cursor.sign("(")
        columns = [cursor.word("a column")]
        while not cursor.is_sign(")"):
            cursor.sign(",", "`,` or `)`")
            columns.append(cursor.word("a column"))
        cursor.take()
        report_duplicates(self.cursor, columns, "partition column")
        clauses.partitioned_on = tuple(columns)

    def _option_clause(self, clauses: _Clauses) -> None:
        clauses.options = read_options(self.cursor)

    # Ends

    def _end(self, expected: str, words: Sequence[str] = ()) -> None:
        """Take the end of a statement.

        Arguments:
            expected: what the statement may have here, for the finding about something else.
            words: the keywords that may be meant.
        """
        cursor = self.cursor
        if cursor.is_end():
            cursor.take()
        elif cursor.is_statement():
            self._missing_end()
        else:
            raise cursor.expected(expected, help=cursor.meant(words))

    def _missing_end(self) -> None:
        """Report that a `;` is missing before the statement that begins at the next token."""
        cursor = self.cursor
        with contextlib.suppress(Refused):
            raise cursor.refuse(
                f"expected `;` before `{cursor.token.text} {cursor.following().text}`",
                cursor.tokens_read[cursor.at - 1], help=("end each statement with `;`",),
            )  # fmt: skip

    # Texts

    def _text(self, tokens: Sequence[Token]) -> tuple[str, tuple[tuple[int, int], ...]]:
        """Return the text of a statement of Spark SQL with the values of its variables, and where its parts are."""
        source = self.cursor.source.text
        pieces: list[str] = []
        places: list[tuple[int, int]] = [(0, tokens[0].start)]
        begin, length = tokens[0].start, 0
        for token in tokens:
            if token.spark == token.text:
                continue
            pieces += (source[begin : token.start], token.spark)
            length += token.start - begin + len(token.spark)
            begin = token.end
            places.append((length, begin))
        pieces.append(source[begin : tokens[-1].end])
        return "".join(pieces), tuple(places)

    def _duplicate(self, headline: str, token: Token, also: tuple[Label, ...], help: str) -> Refused:
        report = finding("sql-duplicate", headline, self.cursor.span(token), also=also, help=(help,))
        self.cursor.lexer.add(report)
        return Refused()


def _defined(cursor: Cursor, tokens: Sequence[Token], noun: str) -> Name | None:
    """Return the name of the view or function that a statement defines; None if it does not define one.

    Arguments:
        cursor: for the places of tokens.
        tokens: the tokens of the statement.
        noun: `VIEW` or `FUNCTION`.
    """
    words = [token.upper for token in tokens]
    modifiers = ("CREATE", "OR", "REPLACE", "TEMP", "TEMPORARY")
    at = next((index for index, word in enumerate(words) if word not in modifiers), 0)
    if words[0] != "CREATE" or words[at] != noun:
        return None
    at += 1
    if words[at : at + 3] == ["IF", "NOT", "EXISTS"]:
        at += 3
    parts: list[Word] = []
    while at < len(tokens) and tokens[at].kind in (Kind.WORD, Kind.QUOTED, Kind.VARIABLE):
        parts.append(Word(tokens[at].value, cursor.span(tokens[at]), tokens[at].known))
        if at + 1 >= len(tokens) or tokens[at + 1].text != ".":
            break
        at += 2
    return Name(tuple(parts), cursor.span(tokens[at])) if parts else None
