"""The rows that remain in state after a bounded run, read from the checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.runner.checkpoints.state_rows import Holder, rows_in_state
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNIT = UnitId("pairing", "pairs")


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return the checkpoints of a query that joined 50 rows with 3 on 1 shared key, and the number of rows in state."""
    root = tmp_path_factory.mktemp("held")

    def stream(name: str, first: int, count: int) -> DataFrame:
        rows = spark.range(first, first + count).selectExpr(f"id as {name}", "timestamp'2026-01-01 00:00:00' as ts")
        rows.write.parquet(str(root / name))
        return spark.readStream.schema(rows.schema).name(name).parquet(str(root / name)).withWatermark("ts", "1 hour")

    left, right = stream("l", 0, 50), stream("r", 49, 3).withColumnRenamed("ts", "other")
    query = (
        left.join(right, (left.l == right.r) & (left.ts == right.other))
        .writeStream.format("noop")
        .option("checkpointLocation", str(root / "checkpoints" / UNIT.streamlet / UNIT.part))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    progress = query.lastProgress
    assert progress is not None
    return root / "checkpoints", progress.stateOperators[0].numRowsTotal


@pytest.mark.spark
def test_the_sides_of_a_join(spark: SparkSession, joined: tuple[Path, int]) -> None:
    """The result is the same whether both sides are counted or one is derived from the total."""
    checkpoints, total = joined
    counted, derived = (
        [
            (event.operator, event.rows)
            for event in rows_in_state(spark, {UNIT: Holder("append", known)}, checkpoints, lambda: 0.0)
        ]
        for known in (None, total)
    )
    assert counted == derived == [("join (left side)", 50), ("join (right side)", 3)]


@pytest.mark.spark
def test_the_state_of_a_query_without_rows_in_state_is_not_read(spark: SparkSession, joined: tuple[Path, int]) -> None:
    """The progress of the last batch has the number of rows in state."""
    held: list[RowsInState] = list(rows_in_state(spark, {UNIT: Holder("append", 0)}, joined[0], lambda: 0.0))
    assert held == []
