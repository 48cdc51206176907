"""`StreamletExecution`: the running queries of one streamlet, which start and stop together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal

from blueprint.trigger import AvailableNow
from streamlets.api.context import StreamingWrite
from streamlets.api.hooks import StopCause
from streamlets.triggers import with_trigger

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from blueprint.trigger import Trigger
    from streamlets.api.context import SparkStreamletContext
    from streamlets.api.logic import SparkStreamletLogic

POLL_INTERVAL = 0.1
"""Seconds between two polls of the queries. The end of a query is noticed with this delay; a poll is a JVM call."""


class QueriesFailedError(Exception):
    """Queries of a streamlet failed; the message has the reason of each, `__cause__` is the first failure.

    Example:
        The first failure and all reasons::

            try:
                execution.completed.result()
            except QueriesFailedError as error:
                print(error, error.__cause__)
    """


class StreamletExecution:
    """The running queries of one streamlet.

    If a query fails or ends without request, all others are stopped. The end of a bounded query (`available-now`) that
    has processed all available data does not stop the others.

    Attributes:
        ready: done once all queries have started.
        completed: done once all queries have ended; it raises `QueriesFailedError` if any of them failed.
        queries: Spark's handles, in the order in which the logic returned the queries.

    Example:
        Without a runner, in a script or a test::

            execution = Alarm().run(context)
            execution.completed.result()  # waits until the queries have ended; raises if one failed
    """

    def __init__(
        self,
        queries: tuple[StreamingQuery, ...],
        bounded: frozenset[str] = frozenset(),
        on_stop: Callable[[StopCause], None] = lambda cause: None,
    ) -> None:
        """Watch queries that are running.

        Arguments:
            queries: the queries.
            bounded: the run ids of those that end by themselves.
            on_stop: called once all have ended; what it raises is the result of `completed` unless a query failed.
        """
        self.ready: Future[None] = Future()
        self.completed: Future[None] = Future()
        self.queries = queries
        self._bounded = bounded
        self._on_stop = on_stop
        self._ask_stop = threading.Event()
        self.ready.set_result(None)
        threading.Thread(target=self._watch, name="streamlet-execution", daemon=True).start()

    def stop(self) -> Future[None]:
        """Stop all queries without finishing their running batches; return `completed` to wait for."""
        self._ask_stop.set()
        return self.completed

    def _watch(self) -> None:
        try:
            while not self._ended():
                self._ask_stop.wait(POLL_INTERVAL)
            failures = [failure for query in self.queries if (failure := _end(query)) is not None]
            reasons = "\n".join(str(failure) for failure in failures)
            self._call_on_stop(reasons)
        except BaseException as error:  # noqa: BLE001 - the JVM exited, and waiting threads must get the error
            self.completed.set_exception(error)
            return
        if failures:
            queries_failed = QueriesFailedError(reasons)
            queries_failed.__cause__ = failures[0]
            self.completed.set_exception(queries_failed)
        else:
            self.completed.set_result(None)

    def _call_on_stop(self, failed: str) -> None:
        asked: Literal["stopped", "completed"] = "stopped" if self._ask_stop.is_set() else "completed"
        try:
            self._on_stop(StopCause("failed", failed) if failed else StopCause(asked))
        except Exception:
            if not failed:  # otherwise the failure of the queries is the result
                raise

    def _ended(self) -> bool:
        if self._ask_stop.is_set():
            return True
        ended = [query for query in self.queries if not query.isActive]
        if len(ended) == len(self.queries):
            return bool(self.queries)
        return any(query.exception() is not None or str(query.runId) not in self._bounded for query in ended)


def run(logic: SparkStreamletLogic[Any], context: SparkStreamletContext) -> StreamletExecution:
    """Start the queries of a logic between its hooks; if one cannot be started, those already started are stopped."""
    started: list[StreamingQuery] = []
    bounded: set[str] = set()
    logic.on_start()
    try:
        for write in logic.build():
            if isinstance(write, StreamingWrite):
                query = start(write, context)
                if isinstance(write.trigger, AvailableNow):
                    bounded.add(str(query.runId))
                started.append(query)
            else:
                started.append(write)
    except BaseException as error:
        for query in started:
            query.stop()
        logic.on_stop(StopCause("failed", str(error)))
        raise
    return StreamletExecution(tuple(started), frozenset(bounded), logic.on_stop)


def start(write: StreamingWrite, context: SparkStreamletContext, trigger: Trigger | None = None) -> StreamingQuery:
    """Start a query with the name `<streamlet>.<query>` and its own checkpoint.

    Arguments:
        write: the query.
        context: the context of its streamlet.
        trigger: overrides the trigger in the author's code; without both, batches follow each other without a pause.
    """
    chosen = trigger or write.trigger
    writer = with_trigger(write.writer, chosen) if chosen else write.writer
    return (
        writer.queryName(f"{context.streamlet_ref}.{write.query}")
        .option("checkpointLocation", context.checkpoint_dir(write.query))
        .start()
    )


def _end(query: StreamingQuery) -> Exception | None:
    if query.isActive:
        query.stop()
    return query.exception()
