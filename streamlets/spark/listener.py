"""What Spark tells of running queries, handed to whoever claimed the query."""

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
    """Who hears of a query: `progress` gets each batch's report, `ended` the failure's text (None: a clean end)."""

    progress: Callable[[Mapping[str, Any]], None]
    ended: Callable[[str | None], None]


# What is kept of queries that nobody claims, as of one that an author starts and gives to nobody: the last events of
# the last runs. Of its reports Spark itself keeps as many.
_EVENTS = 100
_RUNS = 32


@dataclass(slots=True)
class _Early:
    """What was heard of a query's run before somebody claimed it."""

    events: deque[Callable[[Claim], None]] = field(default_factory=lambda: deque(maxlen=_EVENTS))
    ended: bool = False


_EXECUTED = "addBatch"
"""The step of a batch that the report of an idle query does not have."""


def reports_after(query: StreamingQuery, batch: int) -> list[Mapping[str, Any]]:
    """The reports of a query's batches after number `batch`, asked of the query itself; none when the JVM is gone.

    Spark's bus drops events when it is slow, and what is counted must not depend on that. An idle query reports, too,
    with the number of the batch that it will execute next: such reports are omitted.
    """
    try:
        known: Any = query._jsq  # noqa: SLF001 - the public way reads every report, however old
        last = known.lastProgress()
        if last is None or int(last.batchId()) <= batch:
            return []
        reports = [json.loads(each.json()) for each in known.recentProgress() if int(each.batchId()) > batch]
        return [report for report in reports if _EXECUTED in report.get("durationMs", {})]
    except Exception:  # noqa: BLE001 - whatever it is, the query's end is still to be told
        return []


class QueryListener:
    """A listener at Spark's own interface: each event crosses from the JVM as one text.

    Events of a query that nobody has claimed yet are kept: a fast query may end before `start()` has returned.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._gateway: Any = None
        self._claims: dict[str, Claim] = {}
        self._unclaimed: dict[str, _Early] = {}
        self._callbacks = Callbacks()

    def attach(self, session: SparkSession) -> None:
        """Hear of the session's queries from now on; of those on a Spark that is gone nothing more will come."""
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
        """Hear of a query's run, also of what has already happened in it."""
        with self._lock:
            early = self._unclaimed.pop(run_id, None) or _Early()
            if not early.ended:
                self._claims[run_id] = claim
            for tell in early.events:
                tell(claim)

    def release(self, run_id: str) -> None:
        """Let go of a query's run that has ended; to be called only where Spark did not tell the end."""
        with self._lock:
            self._claims.pop(run_id, None)
        self._callbacks.ended(run_id)

    def thread(self, run_id: str) -> int | None:
        """The thread of this process in which what a query's run calls is executed, such as `foreachBatch`."""
        return self._callbacks.thread(run_id)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Spark's call, in the query's own thread; the query is claimed by whoever started it."""
        self._callbacks.calling(str(event.runId()))

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Spark's call after each batch."""
        report = json.loads(event.progress().json())
        self._tell(report["runId"], lambda claim: claim.progress(report))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Spark's call when there was nothing to do for a while."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Spark's call at the end of a run."""
        exception = event.exception()
        text = str(exception.get()) if exception.isDefined() else None
        run_id = str(event.runId())
        self._tell(run_id, lambda claim: claim.ended(text))
        with self._lock:
            if run_id in self._unclaimed:
                self._unclaimed[run_id].ended = True
        self.release(run_id)

    def _tell(self, run_id: str, tell: Callable[[Claim], None]) -> None:
        with self._lock:
            claim = self._claims.get(run_id)
            if claim is None:
                self._unclaimed.setdefault(run_id, _Early()).events.append(tell)
                while len(self._unclaimed) > _RUNS:
                    del self._unclaimed[next(iter(self._unclaimed))]
        if claim is not None:
            tell(claim)

    class Java:
        """What py4j asks for."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
