"""Conditions: SQL expressions over the fields of a record, checked without Spark.

The check knows operators, calls, `CASE` and `CAST`. What it does not know is left to Spark, which accepts more; so a
fault that it reports is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blueprint.avro.model import Contract, Record, Schema
from blueprint.avro.spark_types import optional, spark_columns
from blueprint.hocon.source import Source
from blueprint.spelling import did_you_mean, listing
from blueprint.sql.operators import ARITHMETIC, COMPARISONS, MEANT, with_operators
from blueprint.sql.tokens import Kind, Lexer, Token, TooManyFindings

_NUMBERS = frozenset(("int", "bigint", "float", "double"))
_INFIX = frozenset(("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP"))
_AFTER_OPERAND = frozenset(("AND", "OR", "IS", "NOT", "DIV", "WHEN", "THEN", "ELSE", "END", "AS", "ESCAPE")) | _INFIX
_NO_OPERAND = _AFTER_OPERAND - {"NOT"}
_CONSTANTS = frozenset(
    ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "LOCALTIMESTAMP", "SESSION_USER", "USER")
)
"""Functions that are called without parentheses."""
_MOST_NESTED = 60

Type = str | None
"""The type of an expression as in Spark's DDL; None if only Spark knows it."""

_Operand = Callable[[], Type]


@dataclass(frozen=True, slots=True)
class ConditionFault:
    """A mistake in a condition.

    Arguments:
        headline: what is wrong, as the rest of a sentence whose subject is the condition.
        start: the offset of its first character.
        end: the offset after its last character.
        help: what to do.
    """

    headline: str
    start: int
    end: int
    help: tuple[str, ...] = ()


def condition_faults(text: str, contract: Contract) -> tuple[ConditionFault, ...]:
    """Return the mistakes in a condition over the records of a contract: in its syntax, its fields or its type.

    Arguments:
        text: the SQL expression, which must be a boolean.
        contract: the contract of the records.
    """
    source = Source("", text)
    lexer = Lexer(source)
    try:
        tokens = lexer.tokens()
    except TooManyFindings:
        tokens = []
    if lexer.findings:
        first = lexer.findings[0]
        return (ConditionFault(f"cannot be read: {first.headline}", 0, len(text), first.help),)
    parser = _Parser(tokens, contract)
    try:
        type_ = parser.whole()
    except _Refused as refused:
        return (refused.fault,)
    except (_LeftToSpark, RecursionError):
        type_ = None
    if not parser.faults and type_ is not None and type_ != "boolean":
        parser.fault(f"must be true or false, and is `{type_}`", tokens[0], tokens[-2], _compare_help(type_, text))
    return tuple(parser.faults)


def _compare_help(type_: str, text: str) -> tuple[str, ...]:
    return (f"compare it, for example `{text.strip()} <= 5`",) if type_ in _NUMBERS else ("write a comparison",)


class _LeftToSpark(Exception):  # noqa: N818  # it ends the check, it is not an error of this project
    """The rest of the expression is not known here."""


class _Refused(Exception):  # noqa: N818  # it ends the check, it is not an error of this project
    """The expression is not valid."""

    def __init__(self, fault: ConditionFault) -> None:
        super().__init__(fault.headline)
        self.fault = fault


class _Parser:
    """Reads an expression by recursive descent, with a method for each level of precedence.

    Arguments:
        tokens: its tokens; the last one is the end.
        contract: the contract of the records.
    """

    def __init__(self, tokens: list[Token], contract: Contract) -> None:
        self.faults: list[ConditionFault] = []
        self._tokens = list(with_operators(tokens))
        self._at = 0
        self._depth = 0
        self._contract = contract
        self._types: Mapping[str, str] = {name.lower(): type for name, type in spark_columns(contract).items()}

    def whole(self) -> Type:
        """Return the type of the whole text."""
        if self._token.kind is Kind.END:
            raise self._refusal("is empty")
        type_ = self._or()
        token = self._token
        if token.kind is Kind.END:
            return type_
        if token.text == ")":
            raise self._refusal("has a `)` too many")
        if token.kind is Kind.WORD:
            raise _LeftToSpark
        raise self._refusal(f"has {token.shown} after a complete expression", "join both with an operator")

    def fault(self, headline: str, first: Token, last: Token, help: tuple[str, ...] = ()) -> None:
        """Report a mistake, after which the check continues."""
        self.faults.append(ConditionFault(headline, first.start, last.end, help))

    def _or(self) -> Type:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise _LeftToSpark
        type_ = self._logical("OR", lambda: self._logical("AND", self._not))
        self._depth -= 1
        return type_

    def _logical(self, word: str, operand: _Operand) -> Type:
        first = self._token
        type_ = operand()
        while self._token.upper == word:
            self._require_boolean(type_, first, word)
            self._take()
            first = self._token
            self._require_boolean(operand(), first, word)
            type_ = "boolean"
        return type_

    def _require_boolean(self, type_: Type, first: Token, word: str) -> None:
        if type_ in _NUMBERS:
            last = self._tokens[self._at - 1]
            self.fault(f"has `{type_}` beside `{word}`, where true or false is expected", first, last)

    def _not(self) -> Type:
        if self._token.upper == "NOT" or self._token.text == "!":
            word = self._take().text.upper()
            first = self._token
            self._require_boolean(self._not(), first, word)
            return "boolean"
        return self._predicate()

    def _predicate(self) -> Type:
        type_ = self._arithmetic()
        while True:
            word = self._token.upper
            if self._token.text in COMPARISONS:
                self._take()
                self._arithmetic()
            elif word == "IS":
                self._is()
            elif word == "NOT" and self._following.upper in _INFIX:
                self._take()
                self._infix()
            elif word in _INFIX:
                self._infix()
            else:
                return type_
            type_ = "boolean"

    def _is(self) -> None:
        self._take()
        if self._token.upper == "NOT":
            self._take()
        if self._token.upper == "DISTINCT":
            self._take()
            self._word("FROM")
            self._arithmetic()
        elif self._take().upper not in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            raise _LeftToSpark

    def _infix(self) -> None:
        """Read the part of a predicate after its first operand."""
        word = self._take().upper
        if word == "BETWEEN":
            self._arithmetic()
            self._word("AND")
            self._arithmetic()
        elif word == "IN":
            if self._token.text != "(":
                raise self._refusal(f"has {self._found} after `IN`", "write the values in parentheses")
            self._arguments()
        else:
            self._arithmetic()
            if self._token.upper == "ESCAPE":
                self._take()
                self._primary()

    def _arithmetic(self) -> Type:
        type_ = self._primary()
        while self._token.text in ARITHMETIC or self._token.upper == "DIV":
            joined = self._take().text
            other = self._primary()
            type_ = "string" if joined == "||" else type_ if type_ == other and type_ in _NUMBERS else None
        return type_

    def _primary(self) -> Type:
        token = self._token
        if token.text in ("-", "+", "~") and token.kind is Kind.SIGN:
            self._take()
            return self._primary()
        if token.text == "(":
            self._take()
            if self._token.upper in ("SELECT", "WITH"):
                raise _LeftToSpark
            type_ = self._or()
            self._close(token)
        elif token.kind is Kind.NUMBER:
            self._take()
            type_ = "int" if token.text.isdigit() else "double"
        elif token.kind is Kind.STRING:
            self._take()
            type_ = "string"
        elif token.kind in (Kind.WORD, Kind.QUOTED):
            type_ = self._named()
        elif token.kind is Kind.VARIABLE:
            raise self._refusal(
                "has a variable of SQL jobs", "write the value, or put the expression together in HOCON"
            )
        else:
            raise self._refusal(f"has {self._found} where a value is expected")
        if self._token.text in ("[", ":", "."):  # items, and casts with `::`
            raise _LeftToSpark
        return type_

    def _named(self) -> Type:
        """Read what begins with a word: a constant, a call, a field."""
        token = self._token
        if token.upper in _NO_OPERAND:
            raise self._refusal(f"has {self._found} where a value is expected")
        if token.upper in ("TRUE", "FALSE"):
            self._take()
            return "boolean"
        if token.upper == "NULL":
            self._take()
            return None
        if token.upper == "CASE":
            return self._case()
        if self._following.text == "(":
            return self._call()
        if token.upper in _CONSTANTS:
            self._take()
            return None
        is_field = token.value.lower() in self._types
        if not is_field and token.kind is Kind.WORD and self._following.kind in (Kind.STRING, Kind.NUMBER):
            raise _LeftToSpark  # `DATE '2026-01-01'`, `INTERVAL 5 DAYS`
        if not is_field and token.text[:1].isdigit():  # `5L`
            raise _LeftToSpark
        return self._field()

    def _call(self) -> Type:
        name = self._take()
        if name.upper in ("CAST", "TRY_CAST"):
            opening = self._take()
            self._or()
            self._word("AS")
            type_ = self._take()
            if self._token.text != ")":
                raise _LeftToSpark
            self._close(opening)
            return type_.text.lower() if type_.text.lower() in (*_NUMBERS, "boolean") else None
        self._arguments()
        return None

    def _arguments(self) -> None:
        opening = self._take()
        if self._token.text in (")", "*"):
            if self._take().text == "*":
                raise _LeftToSpark
            return
        while True:
            if self._token.upper in ("DISTINCT", "SELECT", "WITH") or self._following.text in ("->", "=>"):
                raise _LeftToSpark
            self._or()
            if self._token.text != ",":
                break
            self._take()
        self._close(opening)

    def _case(self) -> Type:
        self._take()
        if self._token.upper != "WHEN":
            self._or()
        while self._token.upper == "WHEN":
            self._take()
            self._or()
            self._word("THEN")
            self._or()
        if self._token.upper == "ELSE":
            self._take()
            self._or()
        self._word("END")
        return None

    def _field(self) -> Type:
        """Read the name of a field, or a path through records."""
        first = token = self._take()
        type_ = self._types.get(token.value.lower())
        schema = self._step(token, self._contract.record, "the records")
        while self._token.text == ".":
            self._take()
            token = self._take()
            if token.kind not in (Kind.WORD, Kind.QUOTED):
                raise _LeftToSpark
            inner = optional(schema, self._contract)[0] if schema is not None else None
            if inner is not None and not isinstance(inner, Record):
                raise _LeftToSpark
            schema = self._step(token, inner, f"`{first.value}`") if inner is not None else None
            type_ = None
        return type_

    def _step(self, token: Token, record: Record, whose: str) -> Schema | None:
        """Return the type of a field; None, after a finding, if there is no such field."""
        for field in record.fields:
            if field.name.lower() == token.value.lower():  # Spark does not distinguish upper and lower case
                return field.schema
        names = [field.name for field in record.fields]
        help = did_you_mean(token.value, names) or (f"the fields are {listing(names)}",)
        self.fault(f"names `{token.value}`, which is not a field of {whose}", token, token, help)
        return None

    def _word(self, word: str) -> None:
        if self._token.upper != word:
            if self._token.kind is Kind.END:
                raise self._refusal(f"ends where `{word}` is expected")
            raise _LeftToSpark
        self._take()

    def _close(self, opening: Token) -> None:
        if self._token.text == ")":
            self._take()
        elif self._token.kind is Kind.END:
            raise _Refused(ConditionFault("has a `(` that is never closed", opening.start, opening.end))
        elif self._token.kind in (Kind.NUMBER, Kind.STRING):
            raise self._refusal(f"has {self._found} after a complete expression", "join both with an operator")
        else:
            raise _LeftToSpark

    def _refusal(self, headline: str, *help: str) -> _Refused:
        """Return the exception to raise for the next token."""
        token = self._token
        if token.text in MEANT:
            headline, help = f"has the unknown operator `{token.text}`", (f"did you mean `{MEANT[token.text]}`?",)
        start, end = token.start, max(token.end, token.start + 1)
        if token.kind is Kind.END:
            start = max(self._tokens[self._at - 1].end - 1, 0) if self._at else 0
            end = start + 1
        return _Refused(ConditionFault(headline, start, end, help))

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    @property
    def _following(self) -> Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    @property
    def _found(self) -> str:
        return "nothing more" if self._token.kind is Kind.END else self._token.shown

    def _take(self) -> Token:
        token = self._token
        if token.kind is not Kind.END:
            self._at += 1
        return token
