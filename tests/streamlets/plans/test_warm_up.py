"""The query that is analyzed while Spark starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamlets.plans.warm_up import analyzed, warm_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_spark_can_analyze_the_query(spark: SparkSession) -> None:
    """Its plan has an aggregation of windows and a join, as the plans of most logic."""
    plan = analyzed(spark._jvm)
    assert "Aggregate [window#" in plan
    assert "Join Inner" in plan


def test_an_error_is_ignored() -> None:
    """Another Spark version, or a JVM that exits, does not stop the command."""
    warm_up(object())
