"""The stack frames of a stuck batch: in the author's code in this process or a driver process, or else in Spark."""

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
_DUMPED = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)
_CURRENT = "Current thread"
_MODULE = re.compile(r"^\s*(?:at )?(?:[\w.]+(?:@[^/]+)?//?)?")
# Frames that are in every stack: what threads wait in, what calls them, and what Scala inserts between two calls.
_PLUMBING = re.compile(r"(?:java|jdk|sun|scala|py4j)\.|.*\$(?:\$Lambda|anonfun)|.*\bSQLExecution\$")


def authors_frames(thread: int | None, users: Callable[[str], bool] = is_users) -> tuple[str, ...]:
    """Return the frames of a thread that are in the author's code, outermost first.

    Arguments:
        thread: the identifier of the thread; None when no thread has called on behalf of the query.
        users: returns whether a file is the author's.
    """
    frame = sys._current_frames().get(thread) if thread is not None else None  # noqa: SLF001 - the documented way
    if frame is None:
        return ()
    stack = traceback.extract_stack(frame)
    return tuple(place_of(entry.filename, entry.lineno or 0, entry.name) for entry in stack if users(entry.filename))


def dumped_frames(dump: str, users: Callable[[str], bool] = is_users) -> tuple[str, ...]:
    """Return the frames of the author's code in what `faulthandler` has written, outermost first.

    They are of the thread that holds the interpreter lock, or else of the first thread with such frames.
    """
    threads = [
        tuple(place_of(m["file"], int(m["line"]), m["function"]) for m in _DUMPED.finditer(thread) if users(m["file"]))
        for thread in sorted(dump.split("\n\n"), key=lambda thread: not thread.lstrip().startswith(_CURRENT))
    ]
    return next((frames[::-1] for frames in threads if frames), ())


def sparks_frames(query: StreamingQuery) -> tuple[str, ...]:
    """Return the frames of Spark in a query's batch, innermost first, without the frames that are in every stack.

    They are from a task of the query on this machine, or else from the thread of the query.
    """
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context  # noqa: SLF001
    utils: Any = context._jvm.org.apache.spark.util.Utils  # noqa: SLF001
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
    stages = {f" in stage {stage}." for job in jobs if job is not None for stage in job.stageIds}
    threads = utils.getThreadDump()
    tasks = [thread for thread in threads if any(stage in thread.threadName() for stage in stages)]
    if tasks:
        return _frames(str(tasks[0].toString()))
    thread = query._jsq.streamingQuery().queryExecutionThread()  # noqa: SLF001 - the handle has no public way
    dump = utils.getThreadDumpForThread(thread.getId())
    return _frames(str(dump.get().toString())) if dump.isDefined() else ()


def _frames(stack: str) -> tuple[str, ...]:
    lines = (_MODULE.sub("", line) for line in stack.splitlines() if line.endswith(")") and line[:1] != '"')
    return tuple(line for line in lines if not _PLUMBING.match(line))[:_MOST_FRAMES]
