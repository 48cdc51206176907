"""Spark's real-time mode: what a query needs to run in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamlets.spark.cluster_settings import CORES_MAX
from streamlets.spark.physical_plan import physical_plan
from streamlets.spark.plan_tree import plan_tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_EXCHANGE = re.compile(r"^[ :|]*(?:[+:]- )?(?:\*\(\d+\) )?Exchange (?P<kind>\w+)", re.MULTILINE)


def real_time_mode(rows: DataFrame, output_mode: str) -> str:
    """Return the output mode of a query in real-time mode, which supports only `update`.

    Without aggregations, `append` has the same meaning.

    Arguments:
        rows: the rows of the query.
        output_mode: the output mode in the author's code.
    """
    aggregates = output_mode == "append" and any(
        node.name == "Aggregate" and node.streaming for node in plan_tree(rows).all()
    )
    return "update" if output_mode == "append" and not aggregates else output_mode


def prepare_for_real_time(session: SparkSession) -> None:
    """Have new checkpoints store state in the format that real-time mode requires.

    The files of a batch that failed are not used again. Existing checkpoints keep their format.
    """
    session.conf.set(_STATE_FORMAT, "2")


def shuffle_tasks(rows: DataFrame) -> int:
    """Return the number of tasks that a query runs after its shuffles."""
    shuffles = sum(1 for match in _EXCHANGE.finditer(physical_plan(rows)) if match["kind"] != "SinglePartition")
    return shuffles * int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def task_slots(session: SparkSession) -> int | None:
    """Return the number of tasks that a Spark runs at the same time; None if its settings do not limit them."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        return context.defaultParallelism
    return slots_of(dict(context.getConf().getAll()))


def slots_of(settings: Mapping[str, str]) -> int | None:
    """Return the number of tasks that a Spark runs at the same time on a cluster; None if nothing limits them.

    Arguments:
        settings: the settings of the Spark.
    """
    if settings.get("spark.dynamicAllocation.enabled") == "true":
        return None
    if settings.get("spark.master", "").startswith("spark://"):
        limit = settings.get(CORES_MAX)
        return int(limit) if limit else None
    executors, cores = (settings.get(f"spark.executor.{name}") for name in ("instances", "cores"))
    return int(executors) * int(cores) if executors and cores else None
