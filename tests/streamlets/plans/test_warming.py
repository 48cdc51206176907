"""A query is analyzed while Spark starts, or nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamlets.plans.warming import analyzed, warm_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_the_query_is_one_that_spark_analyzes(spark: SparkSession) -> None:
    """Its plan has what logic has: an aggregation of windows above a join."""
    plan = analyzed(spark._jvm)
    assert "Aggregate [window#" in plan
    assert "Join Inner" in plan


def test_what_cannot_be_warmed_up_is_left_cold() -> None:
    """Another Spark than this one, or one that dies meanwhile, is no reason to fail."""
    warm_up(object())
