"""A step: the queries run one after the other; each processes all available data and ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.trigger import AvailableNow, Trigger
from blueprint.wording import in_seconds
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.execution import start
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.checkpoints.repair import remove_temporary_files
from streamlets.runner.checkpoints.watermark import BATCHES_WITHOUT_ROWS, with_batch_after_watermark
from streamlets.spark.failure import failure_of
from streamlets.spark.session import abandon_call
from streamlets.testkit.failures import StepFailedError, TestkitError
from streamlets.time_limit import TimeLimitError, time_limit

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

STEP_SECONDS = 120.0
"""The default limit of a step of a streamlet, so that a test that hangs fails with a message of the testkit."""

POLL_INTERVAL = 0.05
"""Seconds between two checks of a condition."""


@dataclass(frozen=True, slots=True)
class QueryStep:
    """The result of a step for one query.

    Arguments:
        batches: the number of batches.
        rows_in: the number of records read.
        pending_rows: the number of rows in the state of windows and joins at the end.
        late: the number of late rows, dropped by the watermark.
        watermark: the watermark as an ISO time; None without one.
    """

    batches: int = 0
    rows_in: int = 0
    pending_rows: int = 0
    late: int = 0
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a step, by query name."""

    queries: Mapping[str, QueryStep] = field(default_factory=dict)

    @property
    def rows_in(self) -> int:
        """The number of records that all queries have read."""
        return sum(query.rows_in for query in self.queries.values())

    @property
    def pending_rows(self) -> int:
        """The number of rows in the state of all queries."""
        return sum(query.pending_rows for query in self.queries.values())

    @property
    def late(self) -> int:
        """The number of late rows of all queries, dropped by the watermark."""
        return sum(query.late for query in self.queries.values())


_RowsRead = Callable[[Mapping[str, Any]], int]


def step(
    writes: tuple[StreamingWrite | StreamingQuery, ...],
    context: SparkStreamletContext,
    rows_read: _RowsRead,
    seconds: float = STEP_SECONDS,
) -> Step:
    """Run each query until it has processed all available data; queries that the author started run until idle.

    Arguments:
        writes: the queries.
        context: the context of their streamlet.
        rows_read: returns the number of records that a batch has read, for its progress report.
        seconds: the limit for all queries together.

    Raises:
        StepFailedError: a query failed.
        TestkitError: a query does not end in time.
    """
    steps, limit = {}, _Limit(seconds)
    for write in writes:
        query = _start(write, context, AvailableNow()) if isinstance(write, StreamingWrite) else write
        name = write.query if isinstance(write, StreamingWrite) else query.name or str(query.id)
        steps[name] = _finish(query, name, context, rows_read, limit, bounded=isinstance(write, StreamingWrite))
    return Step(steps)


class _Limit:
    """A limit of time, which begins when it is created."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, more than 0."""
        return max(0.001, self._end - time.monotonic())

    def error(self, query: str) -> TestkitError:
        """Return the error for a query that has not ended in time."""
        return TestkitError(
            f"the query `{query}` did not end within {in_seconds(self.seconds)}; see `step(seconds=...)`"
        )


def run_until(
    condition: Callable[[], bool],
    writes: tuple[StreamingWrite | StreamingQuery, ...],
    context: SparkStreamletContext,
    seconds: float,
) -> None:
    """Run all queries together, with the author's triggers, until a condition is true; then stop them.

    Arguments:
        condition: the condition.
        writes: the queries.
        context: the context of their streamlet.
        seconds: the timeout in seconds.

    Raises:
        StepFailedError: a query failed.
        TestkitError: the condition is not true in time.
    """
    queries = [_start(write, context, None) if isinstance(write, StreamingWrite) else write for write in writes]
    try:
        deadline = time.monotonic() + seconds
        while not condition():
            for query in queries:
                if not query.isActive:
                    _raise_failure(query, query.name or "")
            if time.monotonic() > deadline:
                raise TestkitError(f"the condition was not true within {in_seconds(seconds)}")
            time.sleep(POLL_INTERVAL)
    finally:
        for query in queries:
            query.stop()


def _start(write: StreamingWrite, context: SparkStreamletContext, trigger: Trigger | None) -> StreamingQuery:
    try:
        checkpoint = Path(context.checkpoint_dir(write.query))
        remove_temporary_files(checkpoint)  # a step that was stopped may have left one
        if context.session.conf.get(BATCHES_WITHOUT_ROWS, "true") == "true":
            with_batch_after_watermark(read_checkpoint(checkpoint), time.time())
        return start(write, context, trigger)
    except Exception as error:
        raise _step_error(f"{context.streamlet_ref}.{write.query}", error) from error


def _finish(
    query: StreamingQuery,
    name: str,
    context: SparkStreamletContext,
    rows_read: _RowsRead,
    limit: _Limit,
    *,
    bounded: bool,
) -> QueryStep:
    full = f"{context.streamlet_ref}.{name}"
    try:
        if bounded and not query.awaitTermination(math.ceil(limit.left)):
            raise limit.error(full)
        if not bounded:
            _await_idle(query, full, context, limit)
    except TestkitError:
        raise
    except Exception as error:
        raise _step_error(full, error) from error
    finally:
        if query.isActive:
            query.stop()
    return _summary([_as_dict(progress) for progress in query.recentProgress], rows_read)


def _await_idle(query: StreamingQuery, name: str, context: SparkStreamletContext, limit: _Limit) -> None:
    """Wait until a query that the author has started has processed all available data.

    Raises:
        TestkitError: it has not in time.
    """
    try:
        with time_limit(limit.left):
            query.processAllAvailable()
    except TimeLimitError:
        abandon_call(context.session)
        raise limit.error(name) from None


def _summary(progress: list[dict[str, Any]], rows_read: _RowsRead) -> QueryStep:
    if not progress:
        return QueryStep()
    operators = [batch.get("stateOperators") or [] for batch in progress]
    return QueryStep(
        batches=len(progress),
        rows_in=sum(map(rows_read, progress)),
        pending_rows=sum(operator.get("numRowsTotal") or 0 for operator in operators[-1]),
        late=sum(operator.get("numRowsDroppedByWatermark") or 0 for batch in operators for operator in batch),
        watermark=(progress[-1].get("eventTime") or {}).get("watermark"),
    )


def _as_dict(progress: Any) -> dict[str, Any]:
    import json

    return dict(json.loads(progress.json))


def _raise_failure(query: StreamingQuery, name: str) -> None:
    failure = query.exception()
    if failure is not None:
        raise _step_error(name, failure) from failure


def _step_error(query: str, error: Exception) -> StepFailedError:
    failure = failure_of(error, building=False)
    return StepFailedError(query, failure.cause, failure.frames)
