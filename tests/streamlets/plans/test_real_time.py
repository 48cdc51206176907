"""Operators that real-time mode does not support, according to Spark's list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyspark
import pytest
from pyspark.sql import functions as F

from streamlets.plans.real_time import unsupported_operators

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

has_the_list = pytest.mark.skipif(
    tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 3), reason="this Spark has no list that can be read"
)


def stream(spark: SparkSession, name: str) -> DataFrame:
    """Return a stream of numbers with a watermark."""
    return spark.readStream.format("rate").name(name).load().withWatermark("timestamp", "1 minute")


ALLOWED: list[Callable[[DataFrame], DataFrame]] = [
    lambda ticks: ticks.where("value > 1").select(F.explode(F.array("value", "value"))),
    lambda ticks: ticks.dropDuplicates(["value", "timestamp"]),
    lambda ticks: ticks.groupBy(F.window("timestamp", "1 minute")).agg(F.sum("value"), F.collect_list("value")),
    lambda ticks: ticks.join(F.broadcast(ticks.sparkSession.range(3)), F.col("id") == F.col("value")),
    lambda ticks: ticks.union(stream(ticks.sparkSession, "other")),
]


@has_the_list
def test_supported_operators_are_not_listed(spark: SparkSession) -> None:
    """Projections, filters, deduplications, aggregations, broadcast joins and unions are supported."""
    for make in ALLOWED:
        assert unsupported_operators(make(stream(spark, "ticks"))) == ()


@has_the_list
def test_unsupported_operators_are_listed(spark: SparkSession) -> None:
    """Python functions and joins of two streams have descriptions for users."""
    ticks = stream(spark, "ticks")
    joined = ticks.join(stream(spark, "other"), ["value", "timestamp"])
    assert unsupported_operators(joined) == ("joins of two streams",)
    assert unsupported_operators(ticks.select(F.udf(str)("value"))) == ("Python functions",)


def test_without_the_list_nothing_is_listed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is private to Spark and may move."""
    from streamlets.plans import real_time

    real_time._allowed.cache_clear()
    monkeypatch.setattr(real_time, "_ALLOWLIST", "org.apache.spark.NoSuchClass")
    assert unsupported_operators(stream(spark, "ticks")) is None
    real_time._allowed.cache_clear()
