"""`StreamletExecution`: the running queries of one streamlet, started together and stopped together."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from blueprint.plan import AvailableNow
from streamlets.api.context import StreamingWrite
from streamlets.triggers import with_trigger

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from blueprint.plan import Trigger
    from streamlets.api.context import SparkStreamletContext

LOOK_EVERY = 0.1
"""Seconds between two looks at the queries: an end is noticed this late, and each look is one call into the JVM."""


class QueriesFailedError(Exception):
    """Queries of a streamlet failed; the message holds every one's reason, `__cause__` is the first."""


class StreamletExecution:
    """The queries of one streamlet while they run.

    One that fails stops all others, and so does one that ends though nobody asked; one that has worked off what
    there was (`available-now`) lets the others go on.

    Attributes:
        ready: done once all its queries have started.
        completed: done once all have ended; it raises `QueriesFailedError` when any failed.
        queries: Spark's handles, in the order in which the logic gave them.
    """

    def __init__(self, queries: tuple[StreamingQuery, ...], bounded: frozenset[str] = frozenset()) -> None:
        self.ready: Future[None] = Future()
        self.completed: Future[None] = Future()
        self.queries = queries
        self._bounded = bounded
        self._ask_stop = threading.Event()
        self.ready.set_result(None)
        threading.Thread(target=self._watch, name="streamlet-execution", daemon=True).start()

    def stop(self) -> Future[None]:
        """Stop all its queries; the running batches are not finished. Gives `completed`, to be waited for."""
        self._ask_stop.set()
        return self.completed

    def _watch(self) -> None:
        try:
            while not self._over():
                self._ask_stop.wait(LOOK_EVERY)
            failures = [failure for query in self.queries if (failure := _end(query)) is not None]
        except BaseException as broken:  # noqa: BLE001 - the gateway is gone: whoever waits must be told
            self.completed.set_exception(broken)
            return
        if failures:
            failed = QueriesFailedError("\n".join(str(failure) for failure in failures))
            failed.__cause__ = failures[0]
            self.completed.set_exception(failed)
        else:
            self.completed.set_result(None)

    def _over(self) -> bool:
        if self._ask_stop.is_set():
            return True
        ended = [query for query in self.queries if not query.isActive]
        if len(ended) == len(self.queries):
            return bool(self.queries)
        return any(query.exception() is not None or str(query.runId) not in self._bounded for query in ended)


def run(writes: Iterable[StreamingWrite | StreamingQuery], context: SparkStreamletContext) -> StreamletExecution:
    """Start the queries that a streamlet's logic built; a failure to start one stops those already started."""
    started: list[StreamingQuery] = []
    bounded: set[str] = set()
    try:
        for write in writes:
            if isinstance(write, StreamingWrite):
                query = start(write, context)
                if isinstance(write.trigger, AvailableNow):
                    bounded.add(str(query.runId))
                started.append(query)
            else:
                started.append(write)
    except BaseException:
        for query in started:
            query.stop()
        raise
    return StreamletExecution(tuple(started), frozenset(bounded))


def start(write: StreamingWrite, context: SparkStreamletContext, trigger: Trigger | None = None) -> StreamingQuery:
    """Start one query under the name `<streamlet>.<query>` on its own checkpoint.

    Arguments:
        trigger: comes before the author's wish; neither means as fast as it goes.
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
