"""Queries that write to topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from streamlets.batches import BatchWritten

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.plan import OutletPlan


Topic = TypeVar("Topic")
"""What a channel writes the records of a topic to: its `TopicResource`, or something of its own."""


@dataclass(frozen=True, slots=True)
class Branch(Generic[Topic]):
    """An outlet that a query writes to.

    Arguments:
        outlet: the plan of the outlet.
        rows: returns the rows for the outlet, from the DataFrame of the query.
        topic: the topic of the outlet.
    """

    outlet: OutletPlan
    rows: Callable[[DataFrame], DataFrame]
    topic: Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuery:
    """A query that writes to topics.

    Arguments:
        streamlet: the name of the streamlet.
        name: the name of the query within the streamlet, the same after a restart.
        version: the version of the application, which is stored with dead letters.
        on_batch: called in the driver after each batch, before Spark commits it; None if nobody counts.
    """

    streamlet: str
    name: str
    version: str = ""
    on_batch: Callable[[BatchWritten], None] | None = None

    def written(
        self,
        batch: int,
        rows: Mapping[str, int],
        dead_letters: int,
        *,
        replayed: bool,
        executions: int = 1,
        publishing: float = 0.0,
    ) -> None:
        """Report a batch that was written, before Spark commits it.

        Arguments:
            batch: its number.
            rows: the number of rows that were written, by the name of the outlet.
            dead_letters: the number of dead letters that were written.
            replayed: whether an earlier attempt had published it, or decided its content.
            executions: how often its rows were computed.
            publishing: the seconds from the end of the execution until the rows were visible; 0 if unknown.
        """
        if self.on_batch is not None:
            self.on_batch(
                BatchWritten(
                    self.streamlet,
                    self.name,
                    batch,
                    rows,
                    dead_letters,
                    replayed=replayed,
                    executions=executions,
                    publishing=publishing,
                )
            )
