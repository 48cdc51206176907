"""What determines the content of a query's state is compared: keys, aggregates, filters, settings, functions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blueprint.comparison import ChangeClass, DescribedLogic, DescribedQuery, compare, read_descriptor, to_json
from blueprint.comparison.descriptor import OperatorLogic
from blueprint.comparison.state_logic import (
    ANOTHER_FORM,
    NOT_RECORDED,
    LogicDifferences,
    compare_logic,
    logic_differences,
)
from tests.blueprint.comparison.described import application, with_streamlet

COUNTS = OperatorLogic("stateStoreSave", (("key", "in.k"), ("value", "sum(in.v)")))
LOGIC = DescribedLogic((COUNTS,), ("output mode update", "filter (in.v > 5)"), {"spark.sql.ansi.enabled": "true"})


def of(*parts: tuple[str, str], rules: tuple[str, ...] = LOGIC.rules, **settings: str) -> DescribedLogic:
    """Return the logic of an aggregation with these parts."""
    values = dict(LOGIC.settings) | {f"spark.sql.{name}.enabled": value for name, value in settings.items()}
    return DescribedLogic((OperatorLogic("stateStoreSave", parts or COUNTS.parts),), rules, values)


def keeping(logic: DescribedLogic | None) -> DescribedQuery:
    """Return a query with this logic."""
    return DescribedQuery(("in",), ("stateStoreSave",), logic=logic)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (of(("key", "in.g"), ("value", "sum(in.v)")),
         "the key of an aggregation was `in.k`, and is now `in.g`"),
        (of(("key", "in.k"), ("value", "sum((in.v * 2))")),
         "the value of an aggregation was `sum(in.v)`, and is now `sum((in.v * 2))`"),
        (of(("key", "in.k"), ("key", "in.g"), ("value", "sum(in.v)")),
         "the keys of an aggregation were `in.k`, and are now `in.k`, `in.g`"),
        (DescribedLogic((OperatorLogic("dedupe", (("key", "in.k"),)),), LOGIC.rules, LOGIC.settings),
         "its operators were an aggregation, and are now `dropDuplicates`"),
    ],
)  # fmt: skip
def test_another_key_or_aggregate_would_mix_two_meanings(new: DescribedLogic, sentence: str) -> None:
    """The sentence has the operator, the part, and its old and new text."""
    found = compare_logic(LOGIC, new)
    assert (found.lost, found.later, found.unknown) == ((sentence,), (), ())


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (of(rules=("output mode update", "filter (in.v > 50)")), "`filter (in.v > 5)` is now `filter (in.v > 50)`"),
        (of(rules=("output mode update",)), "it no longer has `filter (in.v > 5)`"),
        (of(rules=(*LOGIC.rules, "limit 5")), "it now has `limit 5`"),
        (of(ansi="false"), "`spark.sql.ansi.enabled` was `true`, and is now `false`"),
    ],
)
def test_other_rules_apply_to_new_records(new: DescribedLogic, sentence: str) -> None:
    """The state has earlier records by the old rule."""
    found = compare_logic(LOGIC, new)
    assert (found.lost, found.later, found.unknown) == ((), (sentence,), ())


@pytest.mark.parametrize(
    ("results", "same"),
    [(("a = in.v", "k = in.k"), True), (("k = in.k", "b = in.v"), True), (("k = in.v", "b = in.k"), False),
     (("k = in.k", "v = in.w"), False), (("k = in.k",), False)],
)  # fmt: skip
def test_results_may_have_other_names(results: tuple[str, ...], same: bool) -> None:
    """Unless a name has another meaning than before."""
    old, new = (of(rules=tuple(f"result {result}" for result in columns))
                for columns in (("k = in.k", "v = in.v"), results))  # fmt: skip
    assert bool(compare_logic(old, new).later) is not same


def test_a_rule_counts_as_often_as_it_is_there() -> None:
    """A sample of a sample has fewer rows."""
    once, twice = (of(rules=("sample 0.5",) * times) for times in (1, 2))
    assert compare_logic(once, twice).later == ("it now has `sample 0.5`",)
    assert compare_logic(twice, once).later == ("it no longer has `sample 0.5`",)


def test_python_functions_are_compared_by_their_code() -> None:
    """Another code is another key. Code of another Python, or that cannot be read, is not known."""
    old, changed, python, unread = (
        of(("key", f"f{{{code}}}(in.k) of string"), ("value", "count(1)"))
        for code in ("3.11:aa", "3.11:bb", "3.12:cc", "?")
    )
    (sentence,) = compare_logic(old, changed).lost
    assert sentence.endswith("with different code of the Python function `f`")
    assert compare_logic(old, python).unknown == ("the code of `f` is of Python 3.11 and 3.12",)
    assert compare_logic(old, python).lost == ()
    for before, now in ((unread, unread), (old, unread), (unread, old)):
        found = compare_logic(before, now)
        assert (found.lost, found.unknown) == (
            (),
            ("the code of `f` cannot be read, so a change of it is not detected",),
        )


def test_a_function_is_its_code_and_not_its_name() -> None:
    """A function that is only renamed is the same; one whose code cannot be read is known by its name."""
    old, renamed, changed, unread, other = (
        of(
            ("key", f"{function}(in.k) of string"),
            ("value", "count(1)"),
            rules=(f"filter {function}(in.v) of boolean",),
        )
        for function in ("f{3.11:aa}", "g{3.11:aa}", "g{3.11:bb}", "f{?}", "g{?}")
    )
    assert compare_logic(old, renamed) == LogicDifferences()
    assert compare_logic(old, changed).lost
    assert compare_logic(unread, other).lost


def test_texts_of_another_version_of_streamlets_are_unknown() -> None:
    """They may differ for equal logic, which is neither a loss nor safe."""
    assert compare_logic(LOGIC, replace(LOGIC, form=LOGIC.form + 1)) == LogicDifferences(unknown=(ANOTHER_FORM,))


def test_what_was_not_recorded_is_unknown() -> None:
    """An older descriptor is not an error, and the change is not safe. A query without state has no logic."""
    assert logic_differences(keeping(None), keeping(LOGIC)).unknown == (NOT_RECORDED,)
    stateless = DescribedQuery(("in",))
    for old, new in ((LOGIC, None), (None, None)):
        assert logic_differences(keeping(old), keeping(new)) == logic_differences(stateless, stateless)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (LOGIC, LOGIC, []),
        (LOGIC, of(("key", "in.g"), ("value", "sum(in.v)")), [("change-query-state", ChangeClass.STATE_LOSS)]),
        (LOGIC, of(rules=()), [("change-query-logic", ChangeClass.NEW_RECORDS)]),
        (None, LOGIC, [("change-query-logic", ChangeClass.UNKNOWN)]),
    ],
)
def test_changes_of_logic_have_classes(
    old: DescribedLogic | None, new: DescribedLogic, changes: list[tuple[str, ChangeClass]]
) -> None:
    """Only a loss names a query whose checkpoint is reset when the change is allowed."""
    app = application()
    before, now = (with_streamlet(app, "mean", queries={"out": keeping(logic)}) for logic in (old, new))
    found = compare(before, now)
    assert [(change.code, change.needs) for change in found] == changes
    assert [change.queries for change in found] == [("mean.out",) if needs is ChangeClass.STATE_LOSS else ()
                                                    for _, needs in changes]  # fmt: skip


def test_a_class_that_only_moved_to_another_module_is_compared() -> None:
    """The moved class is the same, and its changed logic is not."""
    app = with_streamlet(application(), "mean", queries={"out": keeping(LOGIC)})
    other = keeping(of(("key", "in.g"), ("value", "sum(in.v)")))
    class_name = app.streamlets["mean"].class_name.rpartition(".")[2]
    moved = with_streamlet(app, "mean", queries={"out": other}, class_name=f"elsewhere.{class_name}")
    assert {change.code: change.needs for change in compare(app, moved)} == {
        "change-class": ChangeClass.SAFE, "change-query-state": ChangeClass.STATE_LOSS
    }  # fmt: skip


def test_logic_decides_about_columns_with_other_names() -> None:
    """A column of the state that only has another name is the same if it is made of the same."""
    from tests.blueprint.comparison.test_state import KEY, MEAN, aggregation

    before = replace(keeping(LOGIC), state=(aggregation(KEY, MEAN),))
    now = replace(keeping(LOGIC), state=(aggregation([("other", "string")], MEAN),))
    app = application()
    old, new = (with_streamlet(app, "mean", queries={"out": query}) for query in (before, now))
    assert compare(old, new) == ()


def test_logic_travels_in_a_file() -> None:
    """What is written is read back."""
    app = with_streamlet(application(), "mean", queries={"out": keeping(LOGIC)})
    queries = read_descriptor(to_json(app), "old.json").descriptor.streamlets["mean"].queries
    assert queries is not None
    assert queries["out"].logic == LOGIC
