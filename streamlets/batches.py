"""Reports of channels and sinks about the batches that they write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchWritten:
    """A batch of a query that has been written. A replay of the batch reports it again.

    Arguments:
        streamlet: the name of the streamlet.
        query: the name of the query within the streamlet.
        batch: the number of the batch in Spark.
        rows: the number of records by outlet name, or by what a sink calls its output.
        dead_letters: the number of records that broke a contract.
        replayed: whether an earlier attempt had decided the content of the batch.
        executions: how often Spark executed the plan of the batch, and so counted its input rows.
        publishing: the seconds from the end of the execution until the rows were visible; 0 if unknown.
    """

    streamlet: str
    query: str
    batch: int
    rows: Mapping[str, int]
    dead_letters: int = 0
    replayed: bool = False
    executions: int = 1
    publishing: float = 0.0


class BatchRecord(Protocol):
    """The batches of a query that a sink has written."""

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether data of a batch, or of a later one, may have been written, or its content decided.

        The runner asks before it starts the query. If the answer is not known, such as for a database that does not
        answer, raise an exception: the query is started again later.

        Arguments:
            id: the id that Spark stores in the checkpoint of the query.
            batch: the number of the batch.
        """


def query_id(rows: DataFrame) -> str:
    """Return the id of the query that a batch belongs to, which Spark stores in the checkpoint.

    A writer is identified by it, because a query with a new checkpoint numbers its batches from 0 again.

    Arguments:
        rows: the rows of the batch, as `foreachBatch` passes them.
    """
    return str(rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))


def execute(rows: DataFrame) -> None:
    """Execute a batch without writing it. Spark's state is incomplete after a batch that was not executed.

    Arguments:
        rows: the rows of the batch.
    """
    rows.write.format("noop").mode("append").save()
