"""Where Spark runs the tasks of a session: in the driver's Java process, or in executors that may be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_local(master: str | None) -> bool:
    """Return whether a master runs all tasks in the driver's Java process, as `local[4]` does."""
    return master is None or master == "local" or master.startswith("local[")


def on_cluster(session: SparkSession) -> bool:
    """Return whether the tasks of a session run in executors, which may be lost or on other machines."""
    return not is_local(session.sparkContext.master)
