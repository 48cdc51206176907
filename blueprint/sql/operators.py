"""The operators of expressions, which are several signs of a text."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.sql.tokens import Kind, Token

COMPARISONS = frozenset(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"))
ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "||", "|", "&", "^", "<<", ">>", ">>>"))
_OPERATORS = COMPARISONS | ARITHMETIC | {"!", "~"}
_SIGNS_OF_OPERATORS = frozenset("=<>!+-*/%|&^~")

MEANT = {"=<": "<=", "=>": ">=", "===": "=", "&&": "AND", "=!": "!=", "!==": "!="}
"""Signs of other languages, and what Spark has instead."""


def with_operators(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens with signs that follow each other directly as one operator, the longest that there is."""
    at = 0
    while at < len(tokens):
        token, end = tokens[at], at + 1
        if token.kind is Kind.SIGN and token.text in _SIGNS_OF_OPERATORS:
            run = [token]
            while (
                tokens[at + len(run)].kind is Kind.SIGN
                and tokens[at + len(run)].text in _SIGNS_OF_OPERATORS
                and tokens[at + len(run)].start == run[-1].end
            ):
                run.append(tokens[at + len(run)])
            texts = ["".join(sign.text for sign in run[: size + 1]) for size in range(len(run))]
            known = [text for text in texts if text in _OPERATORS or text in MEANT or text == "->"]
            text = known[-1] if known else texts[0]
            end = at + len(text)
            token = Token(Kind.SIGN, text, token.start, tokens[end - 1].end, text, text)
        yield token
        at = end
