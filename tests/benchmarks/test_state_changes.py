"""A small version of `benchmarks/state_changes.py`: what is said of a changed query is what Spark does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.state_changes import cases, outcomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CHOSEN = {("two", "nothing"): "", ("two", "operators in another order"): "state-loss"}


def test_what_is_said_of_a_change_is_what_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    """Two operators that Spark numbers against the alphabet are the same state; in another order they are not."""
    chosen = [case for case in cases() if (case.old, case.what) in CHOSEN]
    found = list(outcomes(spark, tmp_path, chosen))
    assert [outcome.wrong for outcome in found] == ["", ""]
    assert {(each.case.old, each.case.what): each.said for each in found} == CHOSEN
    assert [bool(outcome.refused) for outcome in found] == [False, True]
