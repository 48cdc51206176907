"""A small version of `benchmarks/state_changes.py`: the findings about changed queries match what Spark does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.state_changes import cases, outcomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXPECTED = {("two", "nothing"): "", ("two", "operators in another order"): "state-loss"}


def test_findings_match_what_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    """State is kept if Spark numbers two operators in the same way, and is lost if their order changes."""
    selected = [case for case in cases() if (case.old, case.what) in EXPECTED]
    results = list(outcomes(spark, tmp_path, selected))
    assert [outcome.wrong for outcome in results] == ["", ""]
    assert {(outcome.case.old, outcome.case.what): outcome.change_class for outcome in results} == EXPECTED
    assert [bool(outcome.refused) for outcome in results] == [False, True]
