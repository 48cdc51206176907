"""Expressions that mean the same have one normal form, and different ones have different forms."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlets.spark import terms
from streamlets.spark.terms import Term

A, B, C = (Term(name, type="double") for name in "abc")
FIVE = terms.number(5, "integer")


def text(value: str) -> Term:
    return terms.literal(value, "string", str)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (terms.comparison("<", FIVE, A), terms.comparison(">", A, FIVE)),
        (terms.comparison("=", A, B), terms.comparison("=", B, A)),
        (terms.negation(terms.comparison("<=", A, FIVE)), terms.comparison(">", A, FIVE)),
        (terms.junction("AND", [A, terms.junction("AND", [B, C])]), terms.junction("AND", [C, B, A])),
        (terms.among(A, [FIVE, FIVE]), terms.comparison("=", A, FIVE)),
        (terms.arithmetic("+", A, B), terms.arithmetic("+", B, A)),
        (terms.cast(FIVE, "double"), terms.number(5.0, "double")),
        (terms.cast(terms.cast(A, "string"), "string"), terms.cast(A, "string")),
        (terms.case([A, B, terms.case([B, C])]), terms.case([A, B, B, C])),
        (terms.case([A, B, terms.null("double")]), terms.case([A, B])),
        (terms.first_known([terms.first_known([A, B]), C]), terms.first_known([A, B, C])),
        (terms.concatenation([terms.concatenation([A, B]), C]), terms.concatenation([A, B, C])),
        (terms.arithmetic("*", FIVE, FIVE), terms.number(25, "integer")),
        (terms.case([terms.call("is_null", [A]), B, A]), terms.first_known([A, B])),
        (terms.case([terms.call("is_not_null", [A]), A, B]), terms.first_known([A, B])),
    ],
)  # fmt: skip
def test_other_words_for_the_same(one: Term, other: Term) -> None:
    """They have the same text."""
    assert one.text == other.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (terms.comparison("<", A, B), terms.comparison("<=", A, B)),
        (terms.comparison("<", A, B), terms.comparison("<", B, A)),
        (terms.comparison("=", A, B), terms.comparison("<=>", A, B)),
        (terms.junction("AND", [A, B]), terms.junction("OR", [A, B])),
        (terms.arithmetic("-", A, B), terms.arithmetic("-", B, A)),
        (terms.arithmetic("+", terms.arithmetic("+", A, B), C), terms.arithmetic("+", A, terms.arithmetic("+", B, C))),
        (terms.first_known([A, B]), terms.first_known([B, A])),
        (terms.case([A, B, B, C]), terms.case([B, C, A, B])),
        (FIVE, terms.number(5.0, "double")),
        (FIVE, text("5")),
        (terms.null("string"), text("null:string")),
        (terms.cast(A, "integer"), terms.cast(A, "integer", trying=True)),
        (terms.case([A, B, C]), terms.case([terms.negation(A), C, B])),
    ],
)
def test_other_meanings(one: Term, other: Term) -> None:
    """They have other texts. Sums of doubles are not regrouped, and a choice is not turned around unless a comparison
    of two known values decides it: for an unknown condition both forms take the second result."""
    assert one.text != other.text


def test_numbers_are_calculated_as_spark_does_it() -> None:
    """What overflows, divides by zero or is rounded is left to Spark."""
    most = terms.number(2**31 - 1, "integer")
    assert terms.arithmetic("+", most, FIVE).number is None
    zero = terms.number(0.0, "double")
    assert terms.arithmetic("/", zero, zero).number is None
    assert terms.arithmetic("/", FIVE, FIVE).number is None  # `/` gives doubles, and Spark casts before
    assert terms.cast(terms.literal("0.1", "decimal(1,1)", str), "double").number == 0.1
    assert terms.cast(terms.number(2**60 + 1, "long"), "double").number is None


def test_secrets_are_not_calculated_with() -> None:
    """The result could tell the secret."""
    secret = terms.literal("7331", "integer", lambda text: "(secret)")
    for term in (terms.cast(secret, "double"), terms.arithmetic("+", secret, FIVE), terms.among(A, [secret])):
        assert "(secret)" in term.text and "733" not in term.text


def test_what_changes_each_time_keeps_its_order() -> None:
    """Spark evaluates conditions from the left, and not all of them: a random number is drawn or not."""
    random = terms.call("rand", [FIVE], stable=False)
    drawn = terms.comparison("<", random, C)
    assert not drawn.stable
    assert terms.junction("AND", [drawn, A]).text != terms.junction("AND", [A, drawn]).text


CONDITIONS = st.recursive(
    st.builds(lambda *parts: ("compare", *parts), st.sampled_from(["<", "<=", ">", ">=", "=", "<=>"]),
              st.sampled_from("ab"), st.sampled_from(["a", "b", 1, 2])),
    lambda inner: st.one_of(st.tuples(st.just("NOT"), inner), st.tuples(st.sampled_from(["AND", "OR"]), inner, inner)),
    max_leaves=5,
)  # fmt: skip


@given(CONDITIONS, CONDITIONS)
def test_conditions_with_one_text_have_one_truth(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    """Three truth values are compared: an unknown value makes a comparison unknown."""
    values = (None, 0, 1, 2)
    if _term(one).text == _term(other).text:
        for a, b in itertools.product(values, values):
            assert _truth(one, {"a": a, "b": b}) is _truth(other, {"a": a, "b": b})


@given(CONDITIONS)
def test_a_double_negation_is_none(condition: tuple[object, ...]) -> None:
    """Moving negations inwards twice gives the condition."""
    term = _term(condition)
    assert terms.negation(terms.negation(term)).text == term.text


def _term(condition: tuple[object, ...]) -> Term:
    match condition:
        case ("compare", str(operator), left, right):
            return terms.comparison(operator, _operand(left), _operand(right))
        case ("NOT", tuple(inner)):
            return terms.negation(_term(inner))
        case (str(operator), tuple(left), tuple(right)):
            return terms.junction(operator, [_term(left), _term(right)])
    raise ValueError(condition)


def _operand(value: object) -> Term:
    return terms.number(value, "integer") if isinstance(value, int) else Term(str(value), type="integer")


def _truth(condition: tuple[object, ...], row: dict[str, int | None]) -> bool | None:
    """Return the value of a condition in SQL."""
    match condition:
        case ("compare", str(operator), left, right):
            one, other = (row[value] if isinstance(value, str) else value for value in (left, right))
            if operator == "<=>":
                return one == other
            if not isinstance(one, int) or not isinstance(other, int):
                return None
            return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other, "=": one == other}[
                operator
            ]
        case ("NOT", tuple(inner)):
            truth = _truth(inner, row)
            return None if truth is None else not truth
        case (str(operator), tuple(left), tuple(right)):
            truths = {_truth(left, row), _truth(right, row)}
            decisive = operator == "OR"
            return decisive if decisive in truths else None if None in truths else not decisive
    raise ValueError(condition)
