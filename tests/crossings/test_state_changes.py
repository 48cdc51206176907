"""Every change of a stateful query in `benchmarks/state_change_cases.py` is found in the plans, and no other one.

The benchmark runs the changes; here they are only planned, all in one session.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.state_change_cases import Version, cases
from benchmarks.state_changes import EVENT
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
    "10000 ms", "same", "=",
}  # fmt: skip
"""Changes that are only other words for the same.

Not among them: `60 seconds` for `1 minute` in the range of a join, which is reported although it means the same.
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
            return query_logic(version.build(events, others, version.parameters), version.mode)

    return of


def test_changes_are_found_in_plans(logic: Callable[[Version], DescribedLogic]) -> None:
    """Each alternative differs from the first one of its family, unless it is the same in other words."""
    wrong, first = [], {}
    selected = cases()
    assert len(selected) > 120
    for case in selected:
        if case.family not in first:
            first[case.family] = logic(case.old)
        found = compare_logic(first[case.family], logic(case.new))
        changed = case.new is not case.old and case.what not in SAME and case.family != "key in UTC"
        if bool(found.lost or found.later) is not changed:
            wrong.append((case.family, case.what, found))
    assert not wrong
