"""Every change of a stateful query in `benchmarks/state_change_cases.py` is found in the plans, and no other one.

The benchmark runs the changes; here they are only planned, all in one session.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.state_change_cases import cases
from benchmarks.state_changes import EVENT
from benchmarks.state_refactorings import refactoring_families
from benchmarks.state_versions import Version
from blueprint.comparison import DescribedLogic
from blueprint.comparison.state_logic import compare_logic
from streamlets.spark.query_logic import query_logic
from streamlets.spark.session import active, child_session
from streamlets.testkit.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAME = {
    "string(key)", "by a copy of it", "by a copy of a copy", "with a column more", "without other columns",
    "10000 ms", "same", "=", "60 s", "double(sum(value))",
}  # fmt: skip
"""Changes that are only other words for the same.
"""


@pytest.fixture
def logic(spark: SparkSession, tmp_path: Path) -> Callable[[Version], DescribedLogic]:
    """Return a function that returns the logic of a version; each call uses new streams."""
    schema = EVENT.replace(" not null", "")
    numbers = count()

    def of(version: Version) -> DescribedLogic:
        session = child_session(spark, SETTINGS | dict(version.settings))
        with active(session):
            directory = tmp_path / str(next(numbers))
            directory.mkdir()
            events, others = (session.readStream.schema(schema).name(name).parquet(str(directory))
                              for name in ("events", "others"))  # fmt: skip
            rows = version.build(events, others, version.parameters)
            return query_logic(rows, version.mode, inlet_sources=("events", "others"))

    return of


SAMPLE = ("steps", "python", "scalar subquery", "options of from_json", "same choice", "same SQL", "same sessions")
"""Families for `make test`; `make test-full` has all of them."""
NOT_COMPARED = {
    ("same choice", "branches exchanged"),  # of an unknown value, each takes the other result
    ("same function", "helper"),
    ("same function", "in SQL"),  # Spark converts arguments and results in another way
}
"""Refactorings that are called a loss, because they give the same results only for these rows or functions."""


@pytest.mark.parametrize("families", [SAMPLE, pytest.param((), marks=pytest.mark.full)], ids=["sample", "all"])
def test_changes_are_found_in_plans(logic: Callable[[Version], DescribedLogic], families: tuple[str, ...]) -> None:
    """Each alternative differs from the first one of its family, unless it is the same in other words."""
    refactored, wrong = refactoring_families(), []
    first: dict[str, DescribedLogic] = {}
    selected = cases(families)
    assert families or len(selected) > 300
    for case in selected:
        if case.family not in first:
            first[case.family] = logic(case.old)
        found = compare_logic(first[case.family], logic(case.new))
        if case.family in refactored:
            fits = not found.lost or (case.family, case.what) in NOT_COMPARED
        else:
            changed = case.new is not case.old and case.what not in SAME and case.family != "key in UTC"
            fits = bool(found.lost or found.later) is changed
        if not fits:
            wrong.append((case.family, case.what, found))
    assert not wrong
