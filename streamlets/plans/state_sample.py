"""The state columns of a query, determined by Spark: it runs one batch without rows with a temporary checkpoint.

The optimizer decides which columns an operator keeps in its state, and the analyzed plan does not show them.
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
_TIMEOUT = 120_000  # milliseconds; an idle machine takes one second
_SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
_INTERNAL_LEAVES = ("LocalRelation", "OneRowRelation", "Range", "LogicalRDD")
"""Leaves of a plan that do not read external data."""


def sampled_state(
    rows: DataFrame, plan: PlanNode, mode: str, inlets: tuple[Path, ...], checkpoint: Path
) -> tuple[DescribedOperator, ...] | None:
    """Return the stateful operators of a query with their columns; None if Spark does not plan the batch.

    A query that reads anything but inlets is not run, because sources of the author may have side effects.

    Arguments:
        rows: the rows that the query writes.
        plan: the analyzed plan of the rows.
        mode: the output mode of the query.
        inlets: the empty directories of the inlets, in each of which a file without rows is created.
        checkpoint: the temporary checkpoint, a directory that does not exist.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    leaves = [node for node in plan.all() if not node.children]
    if not all(leaf.name in _INTERNAL_LEAVES or any(f"[{inlet}]" in leaf.rest for inlet in inlets) for leaf in leaves):
        return None
    for inlet in inlets:
        _create_empty_file(inlet / _FILE)
    conf = rows.sparkSession.conf
    before = {name: conf.get(name, None) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            conf.set(name, value)
        with suppress(Py4JError, PySparkException):  # Spark stores the columns when it plans the batch
            _run(rows, mode, checkpoint)
    finally:
        for name, previous in before.items():
            if previous is None:
                conf.unset(name)
            else:
                conf.set(name, previous)
    return state_of(checkpoint) or None


def _run(rows: DataFrame, mode: str, checkpoint: Path) -> None:
    """Run the batch with Spark's Java API, which the watch on the author's code does not patch."""
    jvm: Any = rows.sparkSession._jvm  # noqa: SLF001 - authors use the writer of the Python API
    now = jvm.org.apache.spark.sql.streaming.Trigger.AvailableNow()
    writer = rows._jdf.writeStream().outputMode(mode).format("noop").trigger(now)  # noqa: SLF001
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        query.awaitTermination(_TIMEOUT)
    finally:
        query.stop()


def _create_empty_file(file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.exists():
        pq.write_table(pa.table({"_": pa.array([], pa.int32())}), file)
