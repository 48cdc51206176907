"""Draining a query of Spark: it ends by itself after the running batch, with any source."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_EVERY = 0.005

_Activity = Literal["a batch", "waiting", "ended", "planning"]
"""The activity of a query's thread. `a batch`: the sink processes it. `waiting`: for the next trigger or new data."""


def drain(query: StreamingQuery, sleep: Callable[[float], None] = time.sleep) -> None:
    """Have a query end as soon as the running batch is committed, including a batch that an earlier run has planned.

    Returns when the query will end, which the listener reports as usual. Decision 19 has the details and reasons.

    Arguments:
        sleep: takes the seconds between two checks.
    """
    execution = _execution(query)
    if execution.trigger().getClass().getSimpleName().startswith("RealTime"):
        query.stop()  # its batch lasts minutes; what it sent since the last checkpoint is sent again
        return
    if not execution.getClass().getSimpleName().endswith("MicroBatchExecution"):
        query.stop()  # a continuous query has no batches to wait for
        return
    while not _ends_after_this(execution):
        sleep(_LOOK_EVERY)
    if _activity(execution) == "waiting":  # possibly for an hour
        query.stop()


def process_all(query: StreamingQuery) -> None:
    """Process all available data, then stop: the bounded run of a query that its author started with a trigger."""
    if query.isActive:
        query.processAllAvailable()
        query.stop()


def is_down(query: StreamingQuery) -> bool:
    """Return whether a query has ended. A draining query is not `isActive`, although its last batch is running."""
    return not query.isActive and not _execution(query).queryExecutionThread().isAlive()


def _ends_after_this(execution: Any) -> bool:
    """Mark the query as terminated if its thread notices that only after the commit of a batch; return whether."""
    # While this lock is held, the thread can neither plan nor commit a batch.
    lock = execution.awaitProgressLock()
    if not lock.tryLock():
        return False
    try:
        before = _activity(execution)
        if before == "planning":  # marked now, it would store the plan of a batch and not run it
            return False
        state = execution.state()
        active = state.get()
        state.set(_terminated(active))
        if before == "waiting" and _activity(execution) == "planning":  # it woke up before the mark
            state.set(active)
            return False
        return True
    finally:
        lock.unlock()


def _activity(execution: Any) -> _Activity:
    """Return the activity of the query's thread, by its stack."""
    thread = execution.queryExecutionThread()
    jvm: Any = _jvm()
    dump = jvm.org.apache.spark.util.Utils.getThreadDumpForThread(thread.getId())
    if not dump.isDefined():
        return "ended"
    stack = dump.get().toString()
    if "constructNextBatch" in stack:
        return "planning"
    if "withNewExecutionId" in stack:
        return "a batch"
    sleeps = "waitTillTime" in stack or ("Thread.sleep" in stack and "runBatch" not in stack)
    return "waiting" if sleeps and "ProcessingTimeExecutor" in stack else "planning"


def _terminated(state: Any) -> Any:
    """Return Spark's state of a stopped query: a Scala object in the package of the current state."""
    name = f"{state.getClass().getPackageName()}.TERMINATED$"
    return _jvm().java.lang.Class.forName(name).getField("MODULE$").get(None)


def _execution(query: StreamingQuery) -> Any:
    return query._jsq.streamingQuery()  # noqa: SLF001 - the handle has no more than `stop`


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm  # noqa: SLF001
