"""What a query cannot do in a run, found before it starts: real-time mode with some inlets, and continuous triggers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from blueprint.comparison.stateful_operators import stateful_operator
from blueprint.plan import StreamletPlan
from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import SourceLocation
from streamlets.channels.base import TopicResource
from streamlets.spark.plan_tree import plan_tree
from streamlets.spark.stream_writer import NOT_CONTINUOUS, facts, rows_of, runs_continuously

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def require_reported_inlets(
    query: str, plan: StreamletPlan, topics: Mapping[str, TopicResource], place: SourceLocation | None = None
) -> None:
    """Check that no inlet of a streamlet with a real-time query omits messages.

    Spark's progress reports of real-time mode do not have the counts by which they would be found.

    Raises:
        StreamletError: an inlet writes messages that are not records to the dead letters.
    """
    for inlet in plan.inlets:
        if inlet.on_invalid == "dead-letters" and topics[inlet.topic].traits.invalid_records:
            raise StreamletError(
                f"the query `{query}` has a real-time trigger, and its inlet `{inlet.name}` has dead letters: Spark "
                "does not report in real-time mode what a query has omitted; remove `on_invalid` from the inlet, or "
                "use a `processing-time` trigger",
                place,
                code="real-time-plan",
            )


def require_no_deduplication(write: StreamingWrite, plan: StreamletPlan, topics: Mapping[str, TopicResource]) -> None:
    """Check that a real-time query does not read an inlet that deduplicates, which Spark refuses in the first batch.

    Raises:
        StreamletError: it reads one.
    """
    nodes = {node.name for node in plan_tree(rows_of(write.writer)).all()}
    for inlet in plan.inlets:
        operator = topics[inlet.topic].late_operator(inlet)
        if operator is not None and stateful_operator(operator).node in nodes:
            raise StreamletError(
                f"the query `{write.query}` has a real-time trigger, and its inlet `{inlet.name}` deduplicates, which "
                "Spark's real-time mode does not support; use a `processing-time` trigger, or deduplicate where a "
                "later streamlet reads the topic",
                write.place,
                code="deduplicate",
            )


def require_supported_triggers(built: Iterable[StreamingWrite | StreamingQuery]) -> None:
    """Check the triggers that the author has set on Spark's own objects.

    Raises:
        StreamletError: one is continuous, which has no batches to supervise.
    """
    for item in built:
        if isinstance(item, StreamingWrite):
            continuous, name, place = facts(item.writer).continuous, item.query, item.place
        else:
            continuous, name, place = runs_continuously(item), item.name, None
        if continuous:
            message = f"the query `{name}` has a continuous trigger, which is not supported: {NOT_CONTINUOUS}"
            raise StreamletError(message, place, code="continuous-trigger")
