"""What a query keeps in state, compared: columns, names, windows, and the order of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from blueprint.comparison import (
    ApplicationDescriptor,
    ChangeClass,
    DescribedOperator,
    DescribedQuery,
    DescribedStore,
    compare,
    read_descriptor,
    to_json,
)
from blueprint.comparison.state import determines, differences
from tests.blueprint.comparison.described import application, with_streamlet

STRUCT = {"struct": [["start", "timestamp"], ["end", "timestamp"]]}
RENAMED_FIELDS = {"struct": [["from", "timestamp"], ["to", "timestamp"]]}


def store(key: Sequence[tuple[str, object]], value: Sequence[tuple[str, object]]) -> DescribedStore:
    """Return a store of these columns."""
    return DescribedStore(tuple(key), tuple(value))  # type: ignore[arg-type]


def aggregation(key: Sequence[tuple[str, object]], value: Sequence[tuple[str, object]]) -> DescribedOperator:
    """Return an aggregation with these columns."""
    return DescribedOperator("stateStoreSave", {"default": store(key, value)})


def query(*operators: DescribedOperator, windows: tuple[str, ...] | None = None, **aliases: str) -> DescribedQuery:
    """Return a query that keeps this state."""
    names = tuple(operator.name for operator in operators)
    others = {name: (other,) for name, other in aliases.items()}
    return DescribedQuery(("in",), names, operators, windows, others)


KEY, MEAN = [("src", "string")], [("sum", "double"), ("count", "long")]
BEFORE = query(aggregation(KEY, MEAN))


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (
            query(aggregation([("src", "long")], MEAN)),
            "the keys of an aggregation were `src string`, and are now `src long`",
        ),
        (query(aggregation([*KEY, ("unit", "string")], MEAN)), "and are now `src string, unit string`"),
        (query(aggregation([("unit", "string")], MEAN)), "had the column `src`, and now have `unit` in its place"),
        (query(aggregation(KEY, [("max", "double")])), "the values of an aggregation were `sum double, count long`"),
        (query(aggregation(KEY, [("max", "double"), ("count", "long")])), "and are now `max double, count long`"),
        (
            query(DescribedOperator("stateStoreSave", {"left": store(KEY, MEAN)})),
            "the stores default, and now has left",
        ),
    ],
)
def test_other_columns_are_other_state(now: DescribedQuery, why: str) -> None:
    """Also those that only have another name, which Spark does not notice."""
    (said,) = differences(BEFORE, now)
    assert why in said


@pytest.mark.parametrize(
    "now",
    [
        BEFORE,
        query(aggregation([("station", "string")], MEAN), station="src"),
        DescribedQuery(("in",), ("stateStoreSave",)),
        query(DescribedOperator("stateStoreSave")),
    ],
)
def test_the_same_state_and_what_is_not_known_are_no_difference(now: DescribedQuery) -> None:
    """A column that is only renamed is the same."""
    assert list(differences(BEFORE, now)) == []


def test_names_inside_of_structures_and_of_a_joins_rows_are_their_authors() -> None:
    """Spark takes them by place, and so may a reader."""
    window, renamed = (query(aggregation([("window", kind)], MEAN)) for kind in (STRUCT, RENAMED_FIELDS))
    assert list(differences(window, renamed)) == []
    rows = [query(DescribedOperator("symmetricHashJoin", {"left": store(KEY, [(name, "long")])})) for name in "ab"]
    assert list(differences(*rows)) == []


def test_windows_are_part_of_the_state() -> None:
    """Length, slide and gap, in words."""
    tumbling, sliding, gap = ("window 10000000 10000000 0",), ("window 10000000 5000000 1000000",), ("gap 10 seconds",)
    (said,) = differences(replace(BEFORE, windows=tumbling), replace(BEFORE, windows=sliding))
    assert "it grouped by windows of 10 s, and now groups by windows of 10 s every 5 s from 1 s on" in said
    (said,) = differences(replace(BEFORE, windows=gap), replace(BEFORE, windows=()))
    assert "it grouped by sessions with a gap of 10 seconds, and now groups by no windows" in said
    assert list(differences(replace(BEFORE, windows=tumbling), BEFORE)) == []


@pytest.mark.parametrize(
    ("value", "window", "does"),
    [
        ("10 seconds", "window 10000000 10000000 0", True),
        ("5s", "window 10000000 5000000 0", True),
        ("10s", "gap 10 seconds", True),
        ("1 minute", "window 10000000 10000000 0", False),
        (0, "window 10000000 10000000 0", False),
        ("often", "gap CASE WHEN a THEN 5 seconds ELSE 7 seconds END", False),
    ],
)
def test_a_parameter_determines_a_window_of_its_length(value: object, window: str, does: bool) -> None:
    """Whatever it is called."""
    assert determines(value, query(windows=(window,))) is does


def mean(app: ApplicationDescriptor, described: DescribedQuery | None, **changes: object) -> ApplicationDescriptor:
    """Return the application with this query in `mean`."""
    queries = {"out": described} if described is not None else None
    return with_streamlet(app, "mean", queries=queries, **changes)


def test_operators_are_compared_in_sparks_order_where_it_is_known() -> None:
    """Two of one query are the same however a plan lists them, and others when Spark numbers them otherwise."""
    dedupe = DescribedOperator("dedupe", {"default": store([("id", "long")], [])})
    two, swapped = query(aggregation(KEY, MEAN), dedupe), query(dedupe, aggregation(KEY, MEAN))
    app = application()
    listed = DescribedQuery(("in",), ("dedupe", "stateStoreSave"))
    assert compare(mean(app, two), mean(app, listed)) == ()
    assert compare(mean(app, two), mean(app, two)) == ()
    (change,) = compare(mean(app, two), mean(app, swapped))
    assert (change.code, change.needs) == ("change-query-state", ChangeClass.STATE_LOSS)
    assert change.queries == ("mean.out",)
    assert "its operators, in Spark's order, were an aggregation, then `dropDuplicates`" in change.causes[0]


def test_a_parameter_is_safe_unless_it_determines_a_window() -> None:
    """Where the newer queries are known, their windows tell, and the parameter is only a setting."""
    windowed = replace(BEFORE, windows=("window 60000000 60000000 0",))
    old = mean(application(), windowed, parameters={"window": "1 minutes", "late": "10 seconds"})
    longer, later = {"window": "2 minutes", "late": "10 seconds"}, {"window": "1 minutes", "late": "20 seconds"}
    (change,) = compare(old, mean(old, None, parameters=longer))
    assert (change.code, change.needs, change.queries) == ("change-parameter", ChangeClass.STATE_LOSS, ("mean.out",))
    (change,) = compare(old, mean(old, None, parameters=later))
    assert change.needs is ChangeClass.UNKNOWN
    (change,) = compare(old, mean(old, windowed, parameters=longer))
    assert change.needs is ChangeClass.SAFE
    changes = compare(old, mean(old, replace(windowed, windows=("window 120000000 120000000 0",)), parameters=longer))
    assert [change.code for change in changes] == ["change-query-state", "change-parameter"]


def test_state_travels_in_a_file() -> None:
    """What is written is read back: columns of every type, windows and aliases."""
    types: Sequence[tuple[str, object]] = [
        ("window", STRUCT),
        ("tags", {"array": "string"}),
        ("by", {"map": ["int", "long"]}),
    ]
    state = query(aggregation(types, MEAN), DescribedOperator("new"), windows=("gap 1 second",), station="src")
    app = mean(application(), state)
    read = read_descriptor(to_json(app), "old.json").descriptor.streamlets["mean"].queries
    assert read is not None
    found = read["out"]
    assert (found, found.state, found.windows, found.aliases) == (state, state.state, state.windows, state.aliases)


def test_a_gap_is_the_same_in_another_unit() -> None:
    """Only its length counts."""
    seconds, milliseconds, longer = (
        DescribedQuery(("in",), ("sessionWindowStateStoreSaveExec",), windows=(f"gap {gap}",))
        for gap in ("5 seconds", "5000 milliseconds", "6 seconds")
    )
    assert not list(differences(seconds, milliseconds))
    assert list(differences(seconds, longer))
