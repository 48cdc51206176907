"""Replicas of a streamlet that reads a topic with several partitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.testkit.channels import QueryBench
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import READING, append, batch, contract, inlet, outlet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLACED = contract(("id", "long"), ("task", "int"), ("partition", "string"), name="Placed")


def test_a_task_may_read_several_partitions(
    own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """With fewer replicas than partitions, each task reads some of them; Spark alone would have one for each."""
    from pyspark.sql import functions as F

    bench = QueryBench(kafka_bench(request, tmp_path), own_session)
    wide = bench.channels.topic("in", READING, options={"topic.partitions": 3})
    append(wide, [batch(range(60))], READING, 0, partition_by=("id",))
    rows = wide.read(bench.session, inlet("in"), name="in_", metadata=True, replicas=2)
    placed = rows.select("id", F.spark_partition_id().alias("task"), F.col("_meta.position").alias("partition"))
    bench.run(bench.write(placed, outlet("out", PLACED)))
    written = [row for batch in bench.topic("out").scan() for row in batch.to_pylist()]
    assert sorted(row["id"] for row in written) == [*range(60)]
    assert {row["partition"] for row in written} == {"0", "1", "2"}
    assert {row["task"] for row in written} == {0, 1}
