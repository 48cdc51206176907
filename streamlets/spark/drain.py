"""How a running query of Spark is drained: it ends by itself after the batch that is running, whatever its source."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_EVERY = 0.005

_Doing = Literal["a batch", "waiting", "gone", "planning"]
"""What a query's thread is at. `a batch`: the sink is taking it. `waiting`: for its next trigger, or for news."""


def drain(query: StreamingQuery, sleep: Callable[[float], None] = time.sleep) -> None:
    """Have a query end as soon as the running batch is committed; a batch that an earlier run has planned is such a
    one. Returns when that is settled; the end itself is told as any other. See decision 19 for how and why.

    Arguments:
        sleep: takes seconds; between two looks.
    """
    execution = _execution(query)
    if not execution.getClass().getSimpleName().endswith("MicroBatchExecution"):
        query.stop()  # a continuous query has no batches to wait for
        return
    while not _ends_after_this(execution):
        sleep(_LOOK_EVERY)
    if _doing(execution) == "waiting":  # for an hour, maybe
        query.stop()


def is_down(query: StreamingQuery) -> bool:
    """Whether nothing of a query runs any more. One that is drained is not `isActive` while its last batch runs."""
    return not query.isActive and not _execution(query).queryExecutionThread().isAlive()


def _ends_after_this(execution: Any) -> bool:
    """Mark the query as ended where its thread sees that only once a batch is committed; False where it cannot be."""
    # Whoever has this lock keeps the thread from planning a batch and from committing one.
    lock = execution.awaitProgressLock()
    if not lock.tryLock():
        return False
    try:
        before = _doing(execution)
        if before == "planning":  # marked now, it would plan the batch, write that down, and give it up
            return False
        state = execution.state()
        active = state.get()
        state.set(_terminated(active))
        if before == "waiting" and _doing(execution) == "planning":  # it awoke before the mark
            state.set(active)
            return False
        return True
    finally:
        lock.unlock()


def _doing(execution: Any) -> _Doing:
    """What the query's thread is at, by its stack."""
    thread = execution.queryExecutionThread()
    jvm: Any = _jvm()
    dump = jvm.org.apache.spark.util.Utils.getThreadDumpForThread(thread.getId())
    if not dump.isDefined():
        return "gone"
    stack = dump.get().toString()
    if "constructNextBatch" in stack:
        return "planning"
    if "withNewExecutionId" in stack:
        return "a batch"
    sleeps = "waitTillTime" in stack or ("Thread.sleep" in stack and "runBatch" not in stack)
    return "waiting" if sleeps and "ProcessingTimeExecutor" in stack else "planning"


def _terminated(state: Any) -> Any:
    """Spark's own mark of a query that was stopped: a Scala object beside that of the present state."""
    name = f"{state.getClass().getPackageName()}.TERMINATED$"
    return _jvm().java.lang.Class.forName(name).getField("MODULE$").get(None)


def _execution(query: StreamingQuery) -> Any:
    return query._jsq.streamingQuery()  # noqa: SLF001 - the handle has no more than `stop`


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm  # noqa: SLF001
