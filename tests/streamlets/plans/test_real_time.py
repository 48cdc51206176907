"""Which plans real-time mode refuses, as far as Spark's own list says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from streamlets.plans.real_time import refused_operators

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def stream(spark: SparkSession, name: str) -> DataFrame:
    """A stream of numbers in time."""
    return spark.readStream.format("rate").name(name).load().withWatermark("timestamp", "1 minute")


ALLOWED: list[Callable[[DataFrame], DataFrame]] = [
    lambda ticks: ticks.where("value > 1").select(F.explode(F.array("value", "value"))),
    lambda ticks: ticks.dropDuplicates(["value", "timestamp"]),
    lambda ticks: ticks.groupBy(F.window("timestamp", "1 minute")).agg(F.sum("value"), F.collect_list("value")),
    lambda ticks: ticks.join(F.broadcast(ticks.sparkSession.range(3)), F.col("id") == F.col("value")),
    lambda ticks: ticks.union(stream(ticks.sparkSession, "other")),
]


def test_what_it_does_is_not_refused(spark: SparkSession) -> None:
    """Maps, filters, explosions, deduplication, aggregation, broadcast joins and unions."""
    for make in ALLOWED:
        assert refused_operators(make(stream(spark, "ticks"))) == ()


def test_what_it_does_not_do_is_named(spark: SparkSession) -> None:
    """Python functions and joins of two streams, in an author's words."""
    ticks = stream(spark, "ticks")
    joined = ticks.join(stream(spark, "other"), ["value", "timestamp"])
    assert refused_operators(joined) == ("a join of two streams",)
    assert refused_operators(ticks.select(F.udf(str)("value"))) == ("a Python function",)


def test_a_spark_without_the_list_says_nothing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is private to Spark and may move."""
    from streamlets.plans import real_time

    real_time._allowed.cache_clear()
    monkeypatch.setattr(real_time, "_ALLOWLIST", "org.apache.spark.NoSuchClass")
    assert refused_operators(stream(spark, "ticks")) is None
    real_time._allowed.cache_clear()
