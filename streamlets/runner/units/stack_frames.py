"""Where a batch is that does not end: in the author's code in this process, else in Spark."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamlets.spark.failure import is_users, place_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_MOST_FRAMES = 12
_MODULE = re.compile(r"^\s*(?:at )?(?:[\w.]+(?:@[^/]+)?//?)?")
# What every thread of Java waits in, what calls it, and what stands between two lines of Scala.
_PLUMBING = re.compile(r"(?:java|jdk|sun|scala|py4j)\.|.*\$(?:\$Lambda|anonfun)|.*\bSQLExecution\$")


def authors_frames(thread: int | None, users: Callable[[str], bool] = is_users) -> tuple[str, ...]:
    """Places in the author's code at which a thread of this process is, outermost first; () when it is in none.

    Arguments:
        thread: its identifier; None when no thread has called on behalf of the query.
        users: tells of a file whether it is the author's.
    """
    frame = sys._current_frames().get(thread) if thread is not None else None  # noqa: SLF001 - the way to ask for it
    if frame is None:
        return ()
    stack = traceback.extract_stack(frame)
    return tuple(place_of(each.filename, each.lineno or 0, each.name) for each in stack if users(each.filename))


def sparks_frames(query: StreamingQuery) -> tuple[str, ...]:
    """Where Spark is with a query's batch, innermost first: in a task of it on this machine, else in the query's own
    thread; without what is the same in every stack."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context  # noqa: SLF001
    utils: Any = context._jvm.org.apache.spark.util.Utils  # noqa: SLF001
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
    stages = {f" in stage {stage}." for job in jobs if job is not None for stage in job.stageIds}
    threads = utils.getThreadDump()
    tasks = [each for each in threads if any(stage in each.threadName() for stage in stages)]
    if tasks:
        return _shown(str(tasks[0].toString()))
    thread = query._jsq.streamingQuery().queryExecutionThread()  # noqa: SLF001 - the handle has no more than `stop`
    dump = utils.getThreadDumpForThread(thread.getId())
    return _shown(str(dump.get().toString())) if dump.isDefined() else ()


def _shown(stack: str) -> tuple[str, ...]:
    lines = (_MODULE.sub("", line) for line in stack.splitlines() if line.endswith(")") and line[:1] != '"')
    return tuple(line for line in lines if not _PLUMBING.match(line))[:_MOST_FRAMES]
