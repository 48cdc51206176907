"""A step: each query works off what there is now, one after the other, and ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from blueprint.plan import AvailableNow, Trigger
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.execution import start
from streamlets.spark.failure import failure_of
from streamlets.testkit.failures import StepFailedError, TestkitError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

PATIENCE = 120
"""Seconds a query may take for one step: a test that hangs must end with a message, not at pytest's time limit."""

LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class QueryStep:
    """What a query did in a step.

    Arguments:
        batches: how many it ran; rows_in: records it read.
        held: rows held in state (windows, joins) at the end; late: rows dropped as they came after the watermark.
        watermark: ISO time, None without one.
    """

    batches: int = 0
    rows_in: int = 0
    held: int = 0
    late: int = 0
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a step did, by the queries' names."""

    queries: Mapping[str, QueryStep] = field(default_factory=dict)

    @property
    def rows_in(self) -> int:
        """Records read by all queries."""
        return sum(query.rows_in for query in self.queries.values())

    @property
    def held(self) -> int:
        """Rows held in state by all queries."""
        return sum(query.held for query in self.queries.values())

    @property
    def late(self) -> int:
        """Rows that came too late for any query."""
        return sum(query.late for query in self.queries.values())


_RowsRead = Callable[[Mapping[str, Any]], int]


def step(
    writes: tuple[StreamingWrite | StreamingQuery, ...], context: SparkStreamletContext, rows_read: _RowsRead
) -> Step:
    """Run each query until it has worked off what there is now; queries that the author started run until idle.

    Arguments:
        rows_read: gives the records that a batch has read, by its progress report.

    Raises:
        StepFailedError: a query failed.
        TestkitError: a query does not end.
    """
    done = {}
    for write in writes:
        query = _start(write, context, AvailableNow()) if isinstance(write, StreamingWrite) else write
        name = write.query if isinstance(write, StreamingWrite) else query.name or str(query.id)
        done[name] = _finish(query, name, context, rows_read, bounded=isinstance(write, StreamingWrite))
    return Step(done)


def run_until(
    condition: Callable[[], bool],
    writes: tuple[StreamingWrite | StreamingQuery, ...],
    context: SparkStreamletContext,
    seconds: float,
) -> None:
    """Run all queries together, with the author's triggers, until a condition holds; then stop them.

    Raises:
        StepFailedError: a query failed.
        TestkitError: the condition does not hold in time.
    """
    queries = [_start(write, context, None) if isinstance(write, StreamingWrite) else write for write in writes]
    try:
        deadline = time.monotonic() + seconds
        while not condition():
            for query in queries:
                if not query.isActive:
                    _raise_failure(query, query.name or "")
            if time.monotonic() > deadline:
                raise TestkitError(f"the condition did not hold within {seconds:g} seconds")
            time.sleep(LOOK_EVERY)
    finally:
        for query in queries:
            query.stop()


def _start(write: StreamingWrite, context: SparkStreamletContext, trigger: Trigger | None) -> StreamingQuery:
    try:
        return start(write, context, trigger)
    except Exception as error:
        raise _failed(f"{context.streamlet_ref}.{write.query}", error) from error


def _finish(
    query: StreamingQuery, name: str, context: SparkStreamletContext, rows_read: _RowsRead, *, bounded: bool
) -> QueryStep:
    full = f"{context.streamlet_ref}.{name}"
    try:
        if bounded and not query.awaitTermination(PATIENCE):
            query.stop()
            raise TestkitError(f"the query `{full}` did not end within {PATIENCE} seconds")
        if not bounded:
            query.processAllAvailable()
    except TestkitError:
        raise
    except Exception as error:
        raise _failed(full, error) from error
    finally:
        if query.isActive:
            query.stop()
    return _summary([_as_dict(progress) for progress in query.recentProgress], rows_read)


def _summary(progress: list[dict[str, Any]], rows_read: _RowsRead) -> QueryStep:
    if not progress:
        return QueryStep()
    operators = [batch.get("stateOperators") or [] for batch in progress]
    return QueryStep(
        batches=len(progress),
        rows_in=sum(map(rows_read, progress)),
        held=sum(operator.get("numRowsTotal") or 0 for operator in operators[-1]),
        late=sum(operator.get("numRowsDroppedByWatermark") or 0 for batch in operators for operator in batch),
        watermark=(progress[-1].get("eventTime") or {}).get("watermark"),
    )


def _as_dict(progress: Any) -> dict[str, Any]:
    import json

    return dict(json.loads(progress.json))


def _raise_failure(query: StreamingQuery, name: str) -> None:
    failure = query.exception()
    if failure is not None:
        raise _failed(name, failure) from failure


def _failed(query: str, error: Exception) -> StepFailedError:
    told = failure_of(error, building=False)
    return StepFailedError(query, told.cause, told.frames)
