"""The units of a run on Spark: a streamlet until its queries are known, then each of its queries."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from blueprint.core_settings import Retry
from blueprint.model.blueprint import DEAD_LETTERS
from blueprint.trigger import AvailableNow, RealTime
from streamlets.api.context import StreamingWrite
from streamlets.api.hooks import StopCause
from streamlets.api.retry_options import retry_of
from streamlets.batches import BatchWritten
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import BatchStuck, UnitWarned
from streamlets.runner.hosts import Log
from streamlets.runner.supervision.facts import Became, Ended, Fact, Progressed, Seen, Started
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.units.hooks import HookError
from streamlets.runner.units.progress import progressed
from streamlets.runner.units.site import LoadError, Site
from streamlets.runner.units.stack_frames import authors_frames, sparks_frames
from streamlets.spark.drain import drain, is_down, process_all
from streamlets.spark.failure import Failure, failure_of, failure_of_text, text_of
from streamlets.spark.listener import Claim, reports_after
from streamlets.spark.starting import await_sources

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_UNINTERRUPTIBLE = "its batch cannot be interrupted and still runs; the query ends when the batch does"
_REPLACEABLE = "; with `flow.isolation = process` its process would be replaced"
_NO_QUERIES = Failure("`build_streaming_queries` returned no queries", fatal="there is nothing to run")


@dataclass(slots=True)
class _StartedQuery:
    """A query of the current run with its data, which cannot be read from the JVM once that has exited."""

    query: StreamingQuery
    name: str
    batch: int = -1  # the last batch that was reported
    alive: bool = True
    seen_down: bool = False


class _SparkUnit:
    """The common part of both units on Spark: the queries of the current run, and how they end."""

    host = "spark"
    wall_clock = True
    unscalable = ""

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
        self._queries: dict[str, _StartedQuery] = {}  # by run id
        self._stopping = False
        self._last = self._blocked = False
        self._replicas: int | None = None

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start in a worker."""
        self._run, self._queries, self._last, self._replicas = run, {}, last, replicas
        self._stopping = self._blocked = False
        self._workers.submit(lambda: self._begin(run))

    def drain(self) -> None:
        """Have each query end after its running batch."""
        self._end_in_thread(drain)

    def stop(self) -> None:
        """Stop each query at once."""
        self._end_in_thread(_stop)

    def kill(self) -> None:
        """Report that its batch cannot be interrupted: only the end of this process would end it."""
        self._warn_of_block(_UNINTERRUPTIBLE + _REPLACEABLE)

    def check(self) -> None:
        """Check whether a query has ended without a report: Spark drops events when its bus is slow."""
        if not self._site.alive:
            return  # the exit of Spark is reported as `Lost`
        for run_id, started in list(self._queries.items()):
            try:
                if not started.alive or not is_down(started.query):
                    continue
            except Exception:  # noqa: BLE001 - Spark has just exited, which is reported as `Lost`
                return
            if started.seen_down:  # for the second time: the event would have arrived by now
                error = started.query.exception()
                self._over(run_id, self._run, str(error) if error else None)
                self._site.listener.release(run_id)
            started.seen_down = True

    def locate(self, batch: int, since: float) -> None:
        """Report where a batch is, in a thread of its own as Spark may not answer."""

        def work() -> None:
            now = time.time()
            queries = [(run_id, started.query) for run_id, started in list(self._queries.items()) if started.alive]
            frames = tuple(at for run_id, _ in queries for at in authors_frames(self._site.listener.thread(run_id)))
            stack: tuple[str, ...] = ()
            if not frames:
                with contextlib.suppress(Exception):  # Spark may have exited, which is reported as `Lost`
                    stack = tuple(at for _, query in queries for at in sparks_frames(query))
            self._report(
                Seen(
                    BatchStuck(
                        time=now,
                        unit=self.id,
                        batch=batch,
                        since=since,
                        seconds=now - since,
                        frames=frames,
                        stack=stack,
                    )
                )
            )

        threading.Thread(target=work, name=f"locate-{self.id}", daemon=True).start()

    @property
    def _ends(self) -> bool:
        """Whether the queries of the current run process all available data and end, whatever their triggers."""
        return self._site.bounded or self._last

    def _begin(self, run: int) -> None:
        raise NotImplementedError

    def _guarded(self, run: int, work: Callable[[], None]) -> None:
        """Call a function that starts queries; any exception ends the run."""
        try:
            if self._stopping:
                self._end(run, None)
                return
            work()
        except BaseException as error:  # noqa: BLE001 - it is the author's code, and Spark's
            if isinstance(error, HookError):
                failure = self._site.failure() or error.failure
            else:
                self._log(self.id, text_of(error))
                failure = self._site.failure() or failure_of(error, building=True)
            for started in list(self._queries.values()):
                with contextlib.suppress(Exception):  # the failure above is reported
                    started.query.stop()
            self._end(run, failure)

    def _end(self, run: int, failure: Failure | None) -> None:
        """Report the end of the run; first `on_stop` is called if it was the last unit of the streamlet."""
        if failure is not None:
            cause = StopCause("failed", failure.cause)
        else:
            cause = StopCause("stopped" if self._stopping else "completed")

        def report(of_hook: Failure | None) -> None:
            if failure is not None and of_hook is not None:
                self._log(self.id, of_hook.cause)
            self._report(Ended(self.id, run, failure or of_hook))

        self._site.logic.leave(self.id, cause, report)

    def _watch(self, query: StreamingQuery, run: int, name: str) -> None:
        run_id, started = str(query.runId), _StartedQuery(query, name)
        with self._lock:
            self._queries[run_id] = started
        self._site.listener.claim(
            run_id,
            Claim(lambda report: self._progress(report, run, started), lambda text: self._over(run_id, run, text)),
        )

    def _await_sources(self) -> None:
        """Keep the worker until the queries have found their sources, so that few start at the same time."""
        for started in list(self._queries.values()):
            with contextlib.suppress(Exception):  # Spark has exited, or the query has ended: both are reported
                await_sources(started.query, partial(self._is_wanted, started))

    def _is_wanted(self, started: _StartedQuery) -> bool:
        return started.alive and not self._stopping

    def _progress(self, report: Mapping[str, Any], run: int, started: _StartedQuery) -> None:
        batch, name = int(report["batchId"]), started.name
        with self._lock:
            if batch <= started.batch:
                return
            started.batch = batch
        written = self._site.written(name, batch) or BatchWritten(self.id.streamlet, name, batch, {})
        now = time.time()
        event = progressed(
            report,
            self.id,
            now,
            output_mode=self._site.output_modes.get(name, ""),
            rows_in=self._site.rows_read(report, written.executions),
            rows_out={outlet: rows for outlet, rows in written.rows.items() if outlet != DEAD_LETTERS},
            dead_letters=written.dead_letters
            + written.rows.get(DEAD_LETTERS, 0)
            + self._site.followups.invalid(report) // written.executions,
            backlog=self._site.backlog(report),
            executions=written.executions,
            publishing=written.publishing,
        )
        late = self._site.records_late(report, self.id, now, written.executions)
        if late is not None:
            self._report(Seen(late))
        self._report(Progressed(run, self._site.shared(event, report, written.executions)))
        self._site.followups.batch(name, report)

    def _over(self, run_id: str, run: int, text: str | None) -> None:
        with self._lock:
            started = self._queries.get(run_id)
            if run != self._run or started is None or not started.alive:
                return
            started.alive = False
        try:
            for report in reports_after(started.query, started.batch):
                self._progress(report, run, started)
        except Exception as error:  # noqa: BLE001 - an error in the counts must not hide the end
            self._log(self.id, text_of(error))
        self._site.followups.finish()
        failure = None
        if text is not None:
            self._log(self.id, text)
            failure = failure_of_text(text, building=False)
        elif self._ends and not self._stopping and (unwritten := self._site.followups.unwritten(started.name)):
            failure = Failure(unwritten)  # its next start writes them; the run must not end as if all were done
        self._query_over(run, failure)

    def _query_over(self, run: int, failure: Failure | None) -> None:
        self._end(run, failure)

    def _end_in_thread(self, end: Callable[[StreamingQuery], None]) -> None:
        """End all queries in a thread of its own, as the workers may be busy building."""
        self._stopping = True
        queries = self._queries  # of this run, even if the thread starts during the next one
        threading.Thread(target=lambda: self._end_all(end, queries), name=f"end-{self.id}", daemon=True).start()

    def _end_all(self, end: Callable[[StreamingQuery], None], queries: dict[str, _StartedQuery]) -> None:
        for run_id, started in list(queries.items()):
            try:
                end(started.query)
            except Exception as error:  # noqa: BLE001 - Spark could not stop it in time, or has exited
                self._log(self.id, text_of(error))
                if self._still_runs(started):  # it must not be started again; its end is reported
                    self._warn_of_block(_UNINTERRUPTIBLE)
                else:
                    self._over(run_id, self._run, f"it could not be stopped: {error}")

    def _still_runs(self, started: _StartedQuery) -> bool:
        try:
            return self._site.alive and not is_down(started.query)
        except Exception:  # noqa: BLE001 - Spark has just exited
            return False

    def _warn_of_block(self, what: str) -> None:
        """Report once that a batch cannot be interrupted."""
        with self._lock:
            known, self._blocked = self._blocked, True
        if not known:
            self._report(Seen(UnitWarned(time.time(), self.id, what)))


class QueryUnit(_SparkUnit):
    """A query as a unit.

    Its first run starts the query that was built, if given and if it was built for as many replicas; each later run
    builds the streamlet again and starts the query with the same name.
    """

    def __init__(
        self, id: UnitId, site: Site, retry: Retry, workers: Workers, report: Callable[[Fact], None], log: Log,
        write: StreamingWrite | None = None, built_for: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(id, site, retry, workers, report, log)
        self._write, self._built_for = write, built_for
        trigger = site.trigger(write) if write is not None else None
        self.bounded = isinstance(trigger, AvailableNow)
        self.unscalable = "its trigger is real-time" if isinstance(trigger, RealTime) else ""

    def _begin(self, run: int) -> None:
        def work() -> None:
            built = self._write if not self._last and self._replicas == self._built_for else None
            write = built or self._built()
            self._write = None
            self._watch(self._site.start(write, last=self._last), run, write.query)
            stop = self._stopping  # requested while it was starting; a later request finds the query
            self._report(Started(self.id, run))
            if stop:
                self._end_all(_stop, self._queries)
            self._await_sources()

        self._guarded(run, work)

    def _built(self) -> StreamingWrite:
        for item in self._site.build(self.id, last=self._last, replicas=self._replicas):
            if isinstance(item, StreamingWrite) and item.query == self.id.part:
                return item
        raise LoadError(
            f"`build_streaming_queries` did not return the query `{self.id.part}` again: use the same names each time"
        )


class StreamletUnit(_SparkUnit):
    """A streamlet whose queries are not known yet.

    It becomes its queries. If the author has started some of them, it stays one unit: the queries start, fail and stop
    together.
    """

    _first_failure: Failure | None = None
    _ended = 0
    _started: int | None = None  # None while they are being started, when no end is the last one

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start in a worker."""
        self._first_failure, self._ended, self._started = None, 0, None
        super().start(run, last=last, replicas=replicas)

    @property
    def bounded(self) -> bool:
        """Whether its queries end by themselves: queries that the author started do so only in a bounded run."""
        return self._site.bounded

    def _begin(self, run: int) -> None:
        def work() -> None:
            built = self._site.build(self.id, last=self._last, replicas=self._replicas)
            if not built:
                self._end(run, _NO_QUERIES)
            elif _all_writes(built):
                parts = tuple(self._part(write) for write in built)
                self._site.logic.hand_over(self.id, [part.id for part in parts])
                self._report(Became(self.id, run, parts))
            else:
                self._start_together(built, run)

        self._guarded(run, work)

    def _part(self, write: StreamingWrite) -> QueryUnit:
        id = UnitId(self.id.streamlet, write.query)
        retry = (
            retry_of(self.retry, self._site.plan.settings.retry_set, write.retry, write.query)
            if write.retry
            else self.retry
        )
        return QueryUnit(id, self._site, retry, self._workers, self._report, self._log, write, self._replicas)

    def _start_together(self, built: tuple[StreamingWrite | StreamingQuery, ...], run: int) -> None:
        for item in built:
            if isinstance(item, StreamingWrite):
                self._watch(self._site.start(item, last=self._last), run, item.query)
            else:
                self._watch(item, run, item.name or "")
        stop, queries = self._stopping, self._queries
        self._report(Started(self.id, run))
        with self._lock:
            self._started = len(built)
            all_ended = self._ended == self._started
        if all_ended:
            self._end(run, self._first_failure)
        elif stop:
            self._end_all(_stop, queries)
        elif self._ends:
            self._workers.submit(lambda: self._end_all(process_all, queries))
        self._await_sources()

    def _query_over(self, run: int, failure: Failure | None) -> None:
        with self._lock:
            if run != self._run:
                return
            self._first_failure = self._first_failure or failure
            self._ended += 1
            all_ended = self._ended == self._started
        if all_ended:
            self._end(run, self._first_failure)
        elif not self._stopping and (failure is not None or not self._ends):  # otherwise the others end, too
            self.stop()


def _stop(query: StreamingQuery) -> None:
    query.stop()


def _all_writes(built: tuple[StreamingWrite | StreamingQuery, ...]) -> TypeGuard[tuple[StreamingWrite, ...]]:
    return all(isinstance(item, StreamingWrite) for item in built)
