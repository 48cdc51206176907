"""The units of a run on Spark: a streamlet until its queries are known, then each of its queries by itself."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from blueprint.plan import AvailableNow, Retry
from streamlets.api.context import StreamingWrite
from streamlets.api.retry_options import retry_of
from streamlets.channels.base import BatchWritten
from streamlets.runner.events.model import BatchStuck, UnitId
from streamlets.runner.supervision.facts import Became, Ended, Fact, Progressed, Seen, Started
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.units.progress import progressed
from streamlets.runner.units.site import LoadError, Site
from streamlets.runner.units.stack_frames import authors_frames, sparks_frames
from streamlets.spark.drain import drain, is_down
from streamlets.spark.failure import Failure, failure_of, failure_of_text, text_of
from streamlets.spark.listener import Claim, reports_after

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

Log = Callable[[UnitId, str], None]
"""Takes the full text of a failure."""

_NO_QUERIES = Failure("`build_streaming_queries` gave no query", fatal="there is nothing to run")


@dataclass(slots=True)
class _Up:
    """A query of the present run, kept here: asking the JVM for its id fails when the JVM is gone."""

    query: StreamingQuery
    name: str
    batch: int = -1  # the last one that was reported
    alive: bool = True
    seen_down: bool = False


class _SparkUnit:
    """What the two kinds of units share: the queries of the present run, and how they end."""

    def __init__(
        self, id: UnitId, site: Site, retry: Retry, workers: Workers, report: Callable[[Fact], None], log: Log
    ):
        self.id = id
        self.retry = retry
        self._site = site
        self._workers = workers
        self._report = report
        self._log = log
        self._lock = threading.Lock()
        self._run = 0
        self._queries: dict[str, _Up] = {}  # by run id
        self._stopping = False

    def start(self, run: int) -> None:
        """Begin in a worker."""
        self._run, self._queries, self._stopping = run, {}, False
        self._workers.submit(lambda: self._begin(run))

    def drain(self) -> None:
        """Let each query end after its running batch."""
        self._end_in_thread(drain)

    def stop(self) -> None:
        """Stop each query at once."""
        self._end_in_thread(_stop)

    def check(self) -> None:
        """Look whether a query is down whose end was not told: Spark drops events when its bus is slow."""
        if not self._site.alive:
            return  # that is told to all
        for run_id, up in list(self._queries.items()):
            try:
                if not up.alive or not is_down(up.query):
                    continue
            except Exception:  # noqa: BLE001 - Spark has gone meanwhile, which is told to all
                return
            if up.seen_down:  # for the second time: the event had its chance
                error = up.query.exception()
                self._over(run_id, self._run, str(error) if error else None)
                self._site.listener.release(run_id)
            up.seen_down = True

    def locate(self, batch: int, since: float) -> None:
        """In a thread of its own: Spark may not answer."""

        def work() -> None:
            now, up = time.time(), [(run_id, up.query) for run_id, up in list(self._queries.items()) if up.alive]
            frames = tuple(at for run_id, _ in up for at in authors_frames(self._site.listener.thread(run_id)))
            stack: tuple[str, ...] = ()
            if not frames:
                with contextlib.suppress(Exception):  # Spark may be gone, which is told to all
                    stack = tuple(at for _, query in up for at in sparks_frames(query))
            self._report(Seen(BatchStuck(now, self.id, batch, since, now - since, frames, stack)))

        threading.Thread(target=work, name=f"locate-{self.id}", daemon=True).start()

    def _begin(self, run: int) -> None:
        raise NotImplementedError

    def _guarded(self, run: int, work: Callable[[], None]) -> None:
        """Do what starts queries; whatever it raises ends the run."""
        try:
            if self._stopping:
                self._report(Ended(self.id, run))
                return
            work()
        except BaseException as error:  # noqa: BLE001 - it is the author's code, and Spark's
            self._log(self.id, text_of(error))
            failure = self._site.failure() or failure_of(error, building=True)
            for up in list(self._queries.values()):
                with contextlib.suppress(Exception):  # the failure above is the one to tell
                    up.query.stop()
            self._report(Ended(self.id, run, failure))

    def _watch(self, query: StreamingQuery, run: int, name: str) -> None:
        run_id, up = str(query.runId), _Up(query, name)
        with self._lock:
            self._queries[run_id] = up
        self._site.listener.claim(
            run_id, Claim(lambda report: self._progress(report, run, up), lambda text: self._over(run_id, run, text))
        )

    def _progress(self, report: Mapping[str, Any], run: int, up: _Up) -> None:
        batch, name = int(report["batchId"]), up.name
        with self._lock:
            if batch <= up.batch:
                return
            up.batch = batch
        written = self._site.written(name, batch) or BatchWritten(self.id.streamlet, name, batch, {})
        event = progressed(
            report,
            self.id,
            time.time(),
            output_mode=self._site.output_modes.get(name, ""),
            rows_in=self._site.rows_read(report, written.executions),
            rows_out=written.rows,
            dead_letters=written.dead_letters,
            backlog=self._site.backlog(report),
        )
        self._report(Progressed(run, event))

    def _over(self, run_id: str, run: int, text: str | None) -> None:
        with self._lock:
            up = self._queries.get(run_id)
            if run != self._run or up is None or not up.alive:
                return
            up.alive = False
        try:
            for report in reports_after(up.query, up.batch):
                self._progress(report, run, up)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the counts, the end is told
            self._log(self.id, text_of(error))
        failure = None
        if text is not None:
            self._log(self.id, text)
            failure = failure_of_text(text, building=False)
        self._query_over(run, failure)

    def _query_over(self, run: int, failure: Failure | None) -> None:
        self._report(Ended(self.id, run, failure))

    def _end_in_thread(self, end: Callable[[StreamingQuery], None]) -> None:
        """In a thread of its own: the workers may be busy building."""
        self._stopping = True
        queries = self._queries  # of this run, even if the thread gets its turn in the next one
        threading.Thread(target=lambda: self._end_all(end, queries), name=f"end-{self.id}", daemon=True).start()

    def _end_all(self, end: Callable[[StreamingQuery], None], queries: dict[str, _Up]) -> None:
        for run_id, up in list(queries.items()):
            try:
                end(up.query)
            except Exception as error:  # noqa: BLE001 - Spark could not stop it in time, or is gone
                self._log(self.id, text_of(error))
                self._over(run_id, self._run, f"it could not be stopped: {error}")


class QueryUnit(_SparkUnit):
    """One query. Its first run takes what was built, where it is given; each later one builds the streamlet anew and
    takes the query of the same name."""

    def __init__(
        self, id: UnitId, site: Site, retry: Retry, workers: Workers, report: Callable[[Fact], None], log: Log,
        write: StreamingWrite | None = None,
    ) -> None:  # fmt: skip
        super().__init__(id, site, retry, workers, report, log)
        self._write = write
        self.bounded = write is not None and isinstance(site.trigger(write), AvailableNow)

    def _begin(self, run: int) -> None:
        def work() -> None:
            write, self._write = self._write or self._built(), None
            self._watch(self._site.start(write), run, write.query)
            stop = self._stopping  # asked while it started; what is asked once it is up finds its query
            self._report(Started(self.id, run))
            if stop:
                self._end_all(_stop, self._queries)

        self._guarded(run, work)

    def _built(self) -> StreamingWrite:
        for item in self._site.build():
            if isinstance(item, StreamingWrite) and item.query == self.id.query:
                return item
        raise LoadError(f"`build_streaming_queries` gave no query `{self.id.query}` this time: give the same names")


class StreamletUnit(_SparkUnit):
    """A streamlet whose queries are not known yet. It becomes its queries, or, when the author started some himself,
    stays one unit: they start, fail and stop together."""

    _first_failure: Failure | None = None
    _ended = 0
    _started: int | None = None  # unknown while some are being started: then no end is the last one

    def start(self, run: int) -> None:
        """Begin in a worker."""
        self._first_failure, self._ended, self._started = None, 0, None
        super().start(run)

    @property
    def bounded(self) -> bool:
        """Queries that the author started end by themselves only in a bounded run."""
        return self._site.bounded

    def _begin(self, run: int) -> None:
        def work() -> None:
            built = self._site.build()
            if not built:
                self._report(Ended(self.id, run, _NO_QUERIES))
            elif _all_writes(built):
                self._report(Became(self.id, run, tuple(self._part(write) for write in built)))
            else:
                self._start_together(built, run)

        self._guarded(run, work)

    def _part(self, write: StreamingWrite) -> QueryUnit:
        id = UnitId(self.id.streamlet, write.query)
        retry = retry_of(self.retry, self._site.plan.retry_set, write.retry, write.query) if write.retry else self.retry
        return QueryUnit(id, self._site, retry, self._workers, self._report, self._log, write)

    def _start_together(self, built: tuple[StreamingWrite | StreamingQuery, ...], run: int) -> None:
        for item in built:
            if isinstance(item, StreamingWrite):
                self._watch(self._site.start(item), run, item.query)
            else:
                self._watch(item, run, item.name or "")
        stop, queries = self._stopping, self._queries
        self._report(Started(self.id, run))
        with self._lock:
            self._started = len(built)
            all_ended = self._ended == self._started
        if all_ended:
            self._report(Ended(self.id, run, self._first_failure))
        elif stop:
            self._end_all(_stop, queries)
        elif self._site.bounded:
            self._workers.submit(lambda: self._end_all(_work_off, queries))

    def _query_over(self, run: int, failure: Failure | None) -> None:
        with self._lock:
            if run != self._run:
                return
            self._first_failure = self._first_failure or failure
            self._ended += 1
            all_ended = self._ended == self._started
        if all_ended:
            self._report(Ended(self.id, run, self._first_failure))
        elif not self._stopping and (failure is not None or not self._site.bounded):  # else the others are ending, too
            self.stop()


def _stop(query: StreamingQuery) -> None:
    query.stop()


def _work_off(query: StreamingQuery) -> None:
    """The end of a bounded run for a query whose trigger is the author's: all there is, then stop."""
    if query.isActive:
        query.processAllAvailable()
        query.stop()


def _all_writes(built: tuple[StreamingWrite | StreamingQuery, ...]) -> TypeGuard[tuple[StreamingWrite, ...]]:
    return all(isinstance(item, StreamingWrite) for item in built)
