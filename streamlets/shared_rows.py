"""Rows of a batch that several outputs share: all of them get the rows of one execution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from streamlets.masters import on_cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def shared_rows(rows: DataFrame) -> Iterator[DataFrame]:
    """Provide rows that are executed once, however often they are used in the block.

    If an executor is lost, Spark computes the rows that were persisted on it again. If they depend on chance or time,
    one output would get other rows than the next. So on a cluster Spark forgets how they are computed: then the loss
    fails the batch, which is repeated as a whole.

    Arguments:
        rows: the rows.
    """
    if not on_cluster(rows.sparkSession):
        persisted = rows.persist()
        try:
            yield persisted
        finally:
            persisted.unpersist()
        return
    executed = rows.localCheckpoint(eager=True)
    try:
        yield executed
    finally:
        plan: Any = executed._jdf.queryExecution().logical()  # noqa: SLF001 - Spark has no public way to free them
        plan.rdd().unpersist(False)
