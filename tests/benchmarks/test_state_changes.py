"""A small version of `benchmarks/state_changes.py`: the findings about changed queries match what Spark does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.state_change_cases import cases
from benchmarks.state_changes import outcomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXPECTED = {
    ("steps", "by key"): ("", True),
    ("steps", "by the copy of another"): ("state-loss", False),
    ("steps", "of some"): ("new-records", False),
}


def test_findings_match_what_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    """Another key would be mixed with the one in state, and another filter has other results than from scratch."""
    selected = [case for case in cases() if (case.family, case.what) in EXPECTED]
    results = list(outcomes(spark, tmp_path, selected))
    assert not any(outcome.passed_over or outcome.needless for outcome in results)
    found = {(outcome.case.family, outcome.case.what): (outcome.change_class, outcome.same) for outcome in results}
    assert found == EXPECTED
