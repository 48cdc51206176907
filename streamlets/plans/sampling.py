"""What a query would keep in state, told by Spark itself: one batch without a row, into a checkpoint of its own.

Which columns an operator keeps is decided by the optimizer, so no plan that can be asked for tells it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.comparison.descriptor import DescribedOperator
from streamlets.runner.checkpoints.state_columns import state_of
from streamlets.spark.plan_tree import PlanNode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILE = "no-rows.parquet"
_PATIENCE = 120_000  # milliseconds; an idle machine takes one second
_SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
_HERE = ("LocalRelation", "OneRowRelation", "Range", "LogicalRDD")
"""Leaves of a plan that read nothing from outside."""


def sampled_state(
    rows: DataFrame, plan: PlanNode, mode: str, inlets: tuple[Path, ...], checkpoint: Path
) -> tuple[DescribedOperator, ...] | None:
    """Return the stateful operators of a query with their columns; None when Spark does not come to plan its batch.

    A query that reads anything but inlets is not run: nobody knows what a source of its author's would do.

    Arguments:
        plan: analyzed; mode: the query's output mode.
        inlets: the directories that stand for the inlets' topics, which get a file without rows.
        checkpoint: a directory that does not exist.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    leaves = [node for node in plan.all() if not node.children]
    if not all(leaf.name in _HERE or any(f"[{inlet}]" in leaf.rest for inlet in inlets) for leaf in leaves):
        return None
    for inlet in inlets:
        _put_no_rows(inlet / _FILE)
    conf = rows.sparkSession.conf
    before = {name: conf.get(name, None) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            conf.set(name, value)
        with suppress(Py4JError, PySparkException):  # its columns are noted as the batch is planned
            _run(rows, mode, checkpoint)
    finally:
        for name, was in before.items():
            if was is None:
                conf.unset(name)
            else:
                conf.set(name, was)
    return state_of(checkpoint) or None


def _run(rows: DataFrame, mode: str, checkpoint: Path) -> None:
    """Run the batch, past everything that watches what authors start."""
    jvm: Any = rows.sparkSession._jvm  # noqa: SLF001 - authors' queries are started through Python's writer
    now = jvm.org.apache.spark.sql.streaming.Trigger.AvailableNow()
    writer = rows._jdf.writeStream().outputMode(mode).format("noop").trigger(now)  # noqa: SLF001
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        query.awaitTermination(_PATIENCE)
    finally:
        query.stop()


def _put_no_rows(file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.exists():
        pq.write_table(pa.table({"_": pa.array([], pa.int32())}), file)
