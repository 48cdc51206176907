"""Rows that several outputs share: one execution for all of them, or none."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamlets import shared_rows as module
from streamlets.masters import is_local
from streamlets.shared_rows import shared_rows

pytestmark = pytest.mark.spark


def chance(spark: SparkSession) -> DataFrame:
    """Return rows that are different in each execution."""
    return spark.range(0, 100, 1, 2).select(F.expr("uuid()").alias("text"))


def rows_of(frame: DataFrame) -> set[str]:
    """Execute rows."""
    return {row.text for row in frame.collect()}


def stored(spark: SparkSession) -> set[int]:
    """Return the ids of the persisted data of the session."""
    context: Any = spark.sparkContext
    return {int(id) for id in context._jsc.getPersistentRDDs()}


@pytest.mark.parametrize("cluster", [False, True])
def test_all_outputs_get_the_rows_of_one_execution(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, cluster: bool
) -> None:
    """Afterwards nothing of them is left in the memory of Spark."""
    monkeypatch.setattr(module, "on_cluster", lambda session: cluster)
    before = stored(spark)
    with shared_rows(chance(spark)) as rows:
        assert rows_of(rows) == rows_of(rows)
        assert stored(spark) - before
    assert not stored(spark) - before


def test_the_loss_of_an_executor_fails_the_batch_instead_of_mixing_executions(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that an executor had no longer exist. Persisted rows would be computed again, and be other ones."""
    monkeypatch.setattr(module, "on_cluster", lambda session: True)
    before = stored(spark)
    context: Any = spark.sparkContext
    with shared_rows(chance(spark)) as rows:
        rows_of(rows)
        persistent = context._jsc.getPersistentRDDs()
        for lost in stored(spark) - before:
            persistent[lost].unpersist(True)
        with pytest.raises((PySparkException, Py4JJavaError), match="Checkpoint block"):
            rows_of(rows)


def test_a_local_master_has_no_executors() -> None:
    """All others have them, a local cluster included."""
    assert all(map(is_local, (None, "local", "local[4]", "local[*,4]")))
    assert not any(map(is_local, ("local-cluster[2,1,1024]", "spark://h:7077", "yarn", "k8s://https://h")))
