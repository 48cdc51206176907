"""Spark's events of running queries, passed on to the unit of each query."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamlets.spark.callbacks import Callbacks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Claim:
    """The receiver of a query's events.

    Arguments:
        progress: takes the report of each batch.
        ended: takes the text of the failure; None for an end without a failure.
    """

    progress: Callable[[Mapping[str, Any]], None]
    ended: Callable[[str | None], None]


# How many events, of how many runs, are kept for unclaimed queries, such as queries that an author starts and does not
# return. Spark itself keeps as many reports.
_EVENTS = 100
_RUNS = 32


@dataclass(slots=True)
class _Early:
    """The events of a query's run before it was claimed."""

    events: deque[Callable[[Claim], None]] = field(default_factory=lambda: deque(maxlen=_EVENTS))
    ended: bool = False


_EXECUTED = "addBatch"
"""The step of a batch that the report of an idle query does not have."""


def reports_after(query: StreamingQuery, batch: int) -> list[Mapping[str, Any]]:
    """Return the reports of a query's batches after a batch, from the query itself; [] if the JVM has exited.

    Spark's bus drops events when it is slow, which must not affect counts. An idle query also reports, with the number
    of the batch that it will execute next: such reports are omitted.
    """
    try:
        handle: Any = query._jsq  # noqa: SLF001 - the public way reads all reports
        last = handle.lastProgress()
        if last is None or int(last.batchId()) <= batch:
            return []
        reports = [json.loads(entry.json()) for entry in handle.recentProgress() if int(entry.batchId()) > batch]
        return [report for report in reports if _EXECUTED in report.get("durationMs", {})]
    except Exception:  # noqa: BLE001 - the end of the query must be reported all the same
        return []


class QueryListener:
    """A listener that implements Spark's Java interface, so that each event is transferred as a single string.

    Events of a query that was not claimed yet are kept: a fast query may end before `start()` has returned.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._gateway: Any = None
        self._claims: dict[str, Claim] = {}
        self._unclaimed: dict[str, _Early] = {}
        self._callbacks = Callbacks()

    def attach(self, session: SparkSession) -> None:
        """Listen to the queries of a session; those on an exited Spark are forgotten."""
        from pyspark import SparkContext
        from pyspark.java_gateway import ensure_callback_server_started

        gateway = SparkContext._gateway  # noqa: SLF001 - as pyspark's own listener does
        with self._lock:
            if gateway is not self._gateway:
                self._gateway, self._claims, self._unclaimed, self._callbacks = gateway, {}, {}, Callbacks()
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        jvm: Any = SparkContext._jvm  # noqa: SLF001
        wrapped = jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(self)
        session.streams._jsqm.addListener(wrapped)  # noqa: SLF001

    def claim(self, run_id: str, claim: Claim) -> None:
        """Receive the events of a query's run, including earlier ones."""
        with self._lock:
            early = self._unclaimed.pop(run_id, None) or _Early()
            if not early.ended:
                self._claims[run_id] = claim
            for pass_on in early.events:
                pass_on(claim)

    def release(self, run_id: str) -> None:
        """Release a query's run that has ended. To be called only if Spark did not report the end."""
        with self._lock:
            self._claims.pop(run_id, None)
        self._callbacks.ended(run_id)

    def thread(self, run_id: str) -> int | None:
        """Return the thread of this process that executes the calls of a query's run, such as `foreachBatch`."""
        return self._callbacks.thread(run_id)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Handle Spark's call at the start of a run, in the query's own thread."""
        self._callbacks.calling(str(event.runId()))

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Handle Spark's call after each batch."""
        report = json.loads(event.progress().json())
        self._pass_on(report["runId"], lambda claim: claim.progress(report))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Ignore Spark's call when there was nothing to do for a while."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Handle Spark's call at the end of a run."""
        exception = event.exception()
        text = str(exception.get()) if exception.isDefined() else None
        run_id = str(event.runId())
        self._pass_on(run_id, lambda claim: claim.ended(text))
        with self._lock:
            if run_id in self._unclaimed:
                self._unclaimed[run_id].ended = True
        self.release(run_id)

    def _pass_on(self, run_id: str, event: Callable[[Claim], None]) -> None:
        with self._lock:
            claim = self._claims.get(run_id)
            if claim is None:
                self._unclaimed.setdefault(run_id, _Early()).events.append(event)
                while len(self._unclaimed) > _RUNS:
                    del self._unclaimed[next(iter(self._unclaimed))]
        if claim is not None:
            event(claim)

    class Java:
        """The Java interface of this object, for py4j."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
