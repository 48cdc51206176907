"""The lists of a statement in parentheses: options and columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from blueprint.avro.sources.ddl import DdlError, NoAvroTypeError, schema_of_ddl
from blueprint.diagnostics import Label, finding
from blueprint.sql.cursor import Cursor
from blueprint.sql.statements import Column, Option, Word
from blueprint.sql.tokens import Kind, Token


def read_options(cursor: Cursor) -> tuple[Option, ...]:
    """Read a list of options in parentheses."""
    opened = cursor.sign("(")
    options = [_option(cursor, opened)]
    while not cursor.is_sign(")"):
        if cursor.is_end():
            also = (Label(cursor.span(opened), "opened here"),)
            raise cursor.refuse(f"expected `,` or `)`, found {cursor.found}", also=also)
        cursor.sign(",", "`,` or `)`")
        options.append(_option(cursor, opened))
    cursor.take()
    report_duplicates(cursor, [option.key for option in options], "option")
    return tuple(options)


def _option(cursor: Cursor, opened: Token) -> Option:
    key = _option_key(cursor)
    if cursor.is_sign(",") or cursor.is_sign(")") or cursor.is_end():
        raise cursor.refuse(f"the option `{key.text}` has no value", help=(f"write `'{key.text}' = '...'`",))
    if cursor.is_sign("="):
        cursor.take()
    token = cursor.token
    negative = cursor.is_sign("-") and cursor.following().kind is Kind.NUMBER
    if negative:
        cursor.take()
    value = cursor.token
    boolean = value.upper in ("TRUE", "FALSE")
    if value.kind not in (Kind.STRING, Kind.NUMBER, Kind.VARIABLE) and not boolean:
        help = ("put the value in single quotes",) if value.kind in (Kind.WORD, Kind.QUOTED) else ()
        if negative or cursor.is_sign("-"):
            help = ("put the name of the option in single quotes",)
        raise cursor.expected(f"the value of the option `{key.text}`", help=help)
    cursor.take()
    text = value.value.lower() if boolean else value.value
    return Option(key, Word(f"-{text}" if negative else text, cursor.span(token, value), value.known))


def _option_key(cursor: Cursor) -> Word:
    token = cursor.token
    if token.kind is Kind.STRING:
        if not token.value and token.known:
            raise cursor.refuse("the name of an option is empty")
        cursor.take()
        return Word(token.value, cursor.span(token), token.known)
    if token.kind not in (Kind.WORD, Kind.QUOTED):
        raise cursor.expected("the name of an option, such as `'path'`")
    parts = [cursor.take().value]
    while cursor.is_sign("."):
        cursor.take()
        if cursor.token.kind not in (Kind.WORD, Kind.QUOTED):
            raise cursor.expected("the rest of the name of an option")
        parts.append(cursor.take().value)
    return Word(".".join(parts), cursor.span_from(token))


def read_columns(cursor: Cursor, *, types: bool) -> tuple[Column, ...]:
    """Read a list of columns in parentheses.

    Arguments:
        types: whether each column must have a type.
    """
    opened = cursor.take()
    columns = [_column(cursor, opened, types)]
    while not cursor.is_sign(")"):
        cursor.sign(",", "`,` or `)`")
        columns.append(_column(cursor, opened, types))
    cursor.take()
    report_duplicates(cursor, [column.name for column in columns], "column")
    return tuple(columns)


def _column(cursor: Cursor, opened: Token, types: bool) -> Column:
    name = cursor.word("a column")
    tokens: list[Token] = []
    depth = 0
    while depth or not (cursor.is_sign(",") or cursor.is_sign(")")):
        if cursor.is_end() or cursor.token.kind is Kind.BROKEN:
            also = (Label(cursor.span(opened), "opened here"),)
            raise cursor.refuse(f"expected `,` or `)`, found {cursor.found}", also=also)
        token = cursor.take()
        depth += (token.text in "(<") - (token.text in ")>") if token.kind is Kind.SIGN else 0
        tokens.append(token)
    if not tokens:
        if types:
            raise cursor.expected(f"the type of the column `{name.text}`")
        return Column(name, "")
    _check_type(cursor, tokens)
    return Column(name, _joined(tokens))


def _check_type(cursor: Cursor, tokens: Sequence[Token]) -> None:
    """Check the type of a column if Avro has it; Spark checks the others."""
    if not all(token.known for token in tokens):
        return
    texts = [token.spark for token in tokens]
    try:
        schema_of_ddl("c " + " ".join(texts))
    except NoAvroTypeError:
        return
    except DdlError as error:
        ends = itertools.accumulate((len(text) + 1 for text in texts), initial=len("c "))
        wrong = sum(end < error.column for end in ends) - 1
        token = tokens[min(max(wrong, 0), len(tokens) - 1)]
        raise cursor.refuse(str(error), token, help=(error.advice,) if error.advice else ()) from None


def report_duplicates(cursor: Cursor, words: Sequence[Word], noun: str) -> None:
    """Report a name that is there twice; names are compared without case, as Spark does."""
    first: dict[str, Word] = {}
    for word in words:
        earlier = first.setdefault(word.text.lower(), word)
        if earlier is not word and word.known:
            report = finding(
                "sql-duplicate", f"duplicate {noun} `{word.text}`", word.span,
                also=(Label(earlier.span, "first written here"),), help=("remove one of them",),
            )  # fmt: skip
            cursor.lexer.add(report)


def _joined(tokens: Sequence[Token]) -> str:
    """Return the text of a type, with one space where one is necessary or usual."""
    text = ""
    for before, token in zip((None, *tokens), tokens, strict=False):
        if before is not None and token.kind is not Kind.SIGN and before.text not in ("(", "<"):
            text += " "
        text += token.spark
    return text
