"""`DiscoveryUnit`: discovers the tasks of a batch source, in a thread of the runner."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.plan import StreamletPlan
from streamlets.channels.base import TopicResource
from streamlets.ingress.batch_sources.author_call import Call
from streamlets.ingress.batch_sources.context import Discovering, SourceContext
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.failure_warnings import ABANDONED, BOUNDED_ATTEMPTS, GIVEN_UP, failure_warnings
from streamlets.ingress.batch_sources.progress import DiscoveryProgress, progress_file, write_progress
from streamlets.ingress.batch_sources.requests import RetryRequest, retry_requests
from streamlets.ingress.batch_sources.task_states import FailedTasks, read_upto
from streamlets.ingress.batch_sources.task_writer import DiscoveryStoppedError, Eater, TaskWriter
from streamlets.ingress.stuck_report import StuckReport
from streamlets.ingress.triggerers import Clock, SystemClock, Triggerer, TriggererContext
from streamlets.ingress.triggerers.registry import make_triggerer
from streamlets.project.loading import streamlet_of
from streamlets.project.modules import project_at
from streamlets.runner.events.status import OpenTasks, UnitId
from streamlets.runner.events.unit_events import UnitMeasured, UnitProgressed, UnitWarned
from streamlets.runner.hosts import HostContext
from streamlets.runner.state_directory.places import places_of
from streamlets.runner.supervision.backoff import may_restart
from streamlets.runner.supervision.facts import Ended, Progressed, Seen, Started
from streamlets.spark.failure import Failure, failure_of, text_of

HOST = "discovery"
"""The name of the host, and of the part of a streamlet."""

_LOOK_EVERY = 0.5
"""Seconds between two looks at the checkpoint and at requests, while no discovery is triggered."""


class DiscoveryUnit:
    """The discovery of a batch source as a unit of the supervisor.

    Only one discovery runs at a time; a trigger meanwhile is dropped and counted. A discovery that fails or is
    interrupted runs again, with its event, when the unit starts the next time. One that takes longer than
    `discovery-timeout` is stuck, as is another call of the author's code after `stuck-after`. In a bounded run it is
    abandoned, and the unit fails for good: a thread cannot be ended, and there must not be two discoveries at once.

    Arguments:
        plan: the plan of the batch source.
        topic: its task topic.
        context: the context of the host.
        run: the number of the run, for the progress.
        letters: the topic of its dead letters; None without one.
        clock: the wall clock of the triggerer.
    """

    host, wall_clock = HOST, False
    unscalable = "one discovery finds its tasks"

    def __init__(
        self, plan: StreamletPlan, topic: TopicResource, context: HostContext, run: int,
        *, letters: TopicResource | None = None, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.id, self.retry, self.in_bounded_run = UnitId(plan.ref, HOST), plan.settings.retry, context.bounded
        self.bounded = context.bounded or (plan.settings.ends_with_producers and plan.descriptor.external.finite)
        self._plan, self._topic, self._context = plan, topic, context
        self._clock: Clock = clock or SystemClock()
        self._failed = FailedTasks(letters, plan.ref) if letters is not None else None
        self._file = progress_file(context.state.directory, plan.ref)
        self._progress = DiscoveryProgress(run)
        self._current: _Discovery | None = None
        self._failures = 0
        self._stuck = StuckReport(self.id, plan.settings, context.report)
        write_progress(self._file, self._progress)  # a bounded query waits for the discovery of this run

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start in a thread."""
        self._current = current = _Discovery(self, run)
        threading.Thread(target=self._run, args=(current,), name=f"discovery-{self.id.streamlet}", daemon=True).start()

    def drain(self) -> None:
        """End; a running discovery is interrupted by its next task, and runs again at the next start."""
        if (current := self._current) is not None:
            self._abandon()
            current.end()

    def stop(self) -> None:
        """End at once: a discovery that does not end is abandoned, and its tasks are refused."""
        if (current := self._current) is not None:
            self._abandon()
            current.end()
            current.report_end()

    def measure(self) -> None:
        """Report its tasks after the end of the run, when their batches are committed."""
        if self._current is not None:
            self._current.measure_last()

    def kill(self) -> None:
        """Do nothing: `stop` reports the end at once."""

    def check(self) -> None:
        """Report the author's code that does not return; in a bounded run, abandon a discovery."""
        timeout: Any = self._plan.parameters["discovery-timeout"]
        if (current := self._current) is None:
            return
        call = current.call
        limit = timeout.seconds if call.discovers else self._plan.settings.stuck_after.seconds
        if not (call.discovers and self.in_bounded_run):
            self._stuck.look(current.number, f"no end of {call.what}", call.seconds, limit, current.thread)
            return
        if call.seconds < limit:
            return
        reason = f"the discovery did not end within `discovery-timeout` ({timeout})"
        self.update(failure=reason)
        self._abandon()
        current.end()
        current.report_end(Failure(reason, fatal=ABANDONED))

    def _abandon(self) -> None:
        """Have the query of a bounded run wait for no further task."""
        if self.in_bounded_run and not self._progress.discoveries:
            self.update(abandoned=True)

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: it has no batches."""

    def _run(self, current: _Discovery) -> None:
        try:
            current.work()
        except DiscoveryStoppedError:
            current.report_end()
        except BaseException as error:  # noqa: BLE001 - any failure is one of the unit
            self._context.log(self.id, text_of(error))
            reason = self._context.secrets.masked(f"{type(error).__name__}: {error}")
            self.update(failure=reason, running=None)
            self._failures += 1
            given_up = self._failures >= BOUNDED_ATTEMPTS or not may_restart(self.retry, self._failures - 1)
            final = self.in_bounded_run and given_up
            if final:
                self._abandon()
            frames = failure_of(error, building=False).frames
            current.report_end(Failure(reason, frames, fatal=GIVEN_UP if final else ""))
        else:
            current.report_end()

    def update(self, **changes: Any) -> None:
        """Change the progress, and write its file if it has changed."""
        changed = replace(self._progress, **changes)
        if changed != self._progress:
            self._progress = changed
            write_progress(self._file, changed)

    @property
    def progress(self) -> DiscoveryProgress:
        """The progress of this run."""
        return self._progress

    def source(self) -> Discovering:
        """Return a new instance of the source, opened."""
        source, contract = self._streamlet(), next((outlet.contract for outlet in self._plan.outlets), None)
        mounts = {name: Path(directory) for name, directory in self._plan.volume_mounts.items()}
        context = SourceContext(
            streamlet=self._plan.ref, directory=Path(self._plan.directory), volume_mounts=mounts,
            contract=contract, discovers=True, secrets=self._context.secrets,
        )  # fmt: skip
        source.open(self._plan.parameters, context)
        return source  # type: ignore[no-any-return]

    def _streamlet(self) -> Any:
        return streamlet_of(self._plan, project_at(self._plan.directory))  # a BatchSource, as verified

    def triggerer(self, fail: Callable[[Exception], None]) -> Triggerer:
        """Return the triggerer, initialised; it calls `fail` if a thread of it raises."""
        discovery = self._streamlet().triggering(self._plan.parameters)
        triggerer = make_triggerer(discovery["triggerer"])
        ref, directory, secrets = self._plan.ref, Path(self._plan.directory), self._context.secrets
        context = TriggererContext(streamlet=ref, directory=directory, clock=self._clock, fail=fail, secrets=secrets)
        triggerer.init(discovery.get("config", {}), context)
        return triggerer

    def writer(self) -> TaskWriter:
        """Return a writer to the task topic."""
        places = places_of(self._context.state.directory)
        return TaskWriter(self._topic, f"{self._plan.ref}.{HOST}", self._clock.time, places)

    def cursor(self) -> TaskCursor:
        """Return a reader of the task topic."""
        return TaskCursor(self._topic)

    def requests(self) -> Iterator[RetryRequest]:
        """Yield the requests to repeat failed tasks."""
        return retry_requests(self._file.parent)

    def read_upto(self) -> TaskOffset:
        """Return the place after the tasks whose batch is committed."""
        return read_upto(self._context.state, self._plan.ref)

    def failed(self) -> int:
        """Return the number of tasks that have failed for good, retried or not; report the new ones."""
        for warning in self.warnings():
            self.report(Seen(warning))
        return self._failed.count if self._failed is not None else 0

    def warnings(self) -> Iterator[UnitWarned]:
        """Yield warnings about the tasks that have failed for good since the last call; the log gets their errors."""
        failed = self._failed.look() if self._failed is not None else []
        return failure_warnings(self._plan.ref, failed, self._context.log)

    def report(self, fact: Any) -> None:
        """Report a fact to the supervisor."""
        self._context.report(fact)

    def print_line(self, line: str) -> None:
        """Print a line for people."""
        self._context.print_line(line)


class _Discovery:
    """One run of a unit.

    Arguments:
        unit: the unit.
        run: the number of the run.
    """

    def __init__(self, unit: DiscoveryUnit, run: int) -> None:
        self._unit, self.number, self.thread = unit, run, 0
        self._changed = threading.Condition()
        self._event: str | None = None
        self._failure: Exception | None = None  # of a thread of the triggerer
        self._busy = True  # until the discovery that an earlier run did not complete has run
        self._ending = self._reported = False
        self._writer: TaskWriter | None = None
        self._cursor = unit.cursor()
        self._reported_counts = (0, -1, 0)
        self._failed, self._counted = 0, -1  # the failed tasks, and how many tasks were read when they were counted
        self.call = Call()

    def end(self) -> None:
        """Have it end."""
        with self._changed:
            self._ending = True
            writer = self._writer
            self._changed.notify_all()
        if writer is not None:
            writer.stop()

    def report_end(self, failure: Failure | None = None) -> None:
        """Report its end, once."""
        with self._changed:
            if self._reported:
                return
            self._reported = True
        self._unit.report(Ended(self._unit.id, self.number, failure))

    def trigger(self, event: str) -> bool:
        """Request a discovery; return False if one is running, or requested."""
        with self._changed:
            accepted = not (self._busy or self._ending)
            if accepted:
                self._event, self._busy = event, True
                self._changed.notify_all()
        if not accepted and not self._ending:
            dropped = self._unit.progress.dropped + 1
            with suppress(OSError):  # of a full disk; it would end the triggerer's thread
                self._unit.update(dropped=dropped)
            if dropped == 1:
                self._unit.print_line(f"{self._unit.id.streamlet}: dropped a trigger, because a discovery is running")
        return accepted

    def fail(self, error: Exception) -> None:
        """Have it fail, because a thread of the triggerer raised."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def work(self) -> None:
        """Discover whenever it is triggered, until it is to end.

        Raises:
            Exception: the source or its triggerer raised it.
        """
        unit = self._unit
        self.thread = threading.get_ident()
        writer = unit.writer()
        with self._changed:
            self._writer = writer
        triggerer: Triggerer | None = None
        source: Discovering | None = None
        try:
            with self._calling("the call of `open`"):
                source = unit.source()
            unit.report(Started(unit.id, self.number))
            self._reported_counts = writer.next, -1, 0
            self._measure(writer)
            if unit.in_bounded_run:
                self._retry(writer)
            if writer.interrupted is not None or unit.in_bounded_run:
                self._discover(source, writer, writer.interrupted or "")
            with self._changed:
                self._busy = False
            if not unit.in_bounded_run:
                with self._calling("the start of its triggerer"):
                    triggerer = unit.triggerer(self.fail)
                    triggerer.start(self.trigger)
                self._serve(source, writer)
        finally:
            if triggerer is not None:
                triggerer.stop()
            writer.close()
            if not unit.bounded:
                self._measure(writer)
            else:  # nobody measures the backlog from here on, until the run has ended
                tasks = OpenTasks(failed=self._reported_counts[-1])
                unit.report(Seen(UnitMeasured(time.time(), unit.id, {"tasks": None}, tasks=tasks)))
            if source is not None:
                source.close()

    def _serve(self, source: Discovering, writer: TaskWriter) -> None:
        event = None
        while event is None or not self._unit.bounded:
            with self._changed:
                self._changed.wait_for(lambda: self._event is not None or self._ending or self._failure, _LOOK_EVERY)
                if self._ending:
                    return
                if self._failure is not None:
                    raise self._failure
                event, self._event = self._event, None
            if event is not None:
                self._discover(source, writer, event)
                with self._changed:
                    self._busy = False
            self._retry(writer)
            self._measure(writer)

    def _discover(self, source: Discovering, writer: TaskWriter, event: str) -> None:
        unit, began = self._unit, time.monotonic()
        writer.begin(event)
        unit.update(running=event)
        measured = began

        def measure() -> None:
            nonlocal measured
            if time.monotonic() - measured > _LOOK_EVERY:
                measured = time.monotonic()
                self._measure(writer)

        with self._calling("its discovery", discovers=True):
            source.discover(Eater(writer, measure), event)
            writer.finish()
        self._measure(writer, time.monotonic() - began)
        done = unit.progress.discoveries + 1
        unit.update(running=None, discoveries=done, failure="", repeated=writer.repeated)

    @contextmanager
    def _calling(self, what: str, *, discovers: bool = False) -> Iterator[None]:
        """Record a call of the author's code."""
        self.call = Call(what, time.monotonic(), discovers)
        try:
            yield
        finally:
            self.call = Call()

    def measure_last(self) -> None:
        """Report how many tasks were discovered and read in all."""
        if self._writer is not None:
            self._reported_counts, self._cursor = (self._writer.next, -1, 0), self._unit.cursor()
            self._measure(self._writer)

    def _retry(self, writer: TaskWriter) -> None:
        """Discover failed tasks again, as requested. A request is removed once its task is stored."""
        for request in self._unit.requests():
            writer.eat(request.value, key=request.key, retry_of=request.number)
            writer.flush()
            request.remove()

    def _measure(self, writer: TaskWriter, seconds: float = 0.0) -> None:
        """Report how many tasks were discovered and read."""
        unit, discovered, offset = self._unit, writer.next, self._unit.read_upto()
        read = offset.task + 1
        if read != self._counted:  # a task fails with its batch, so only then there may be new dead letters
            self._failed, self._counted = unit.failed(), read
        failed = max(0, self._failed - writer.retried)
        if (discovered, read, failed) == self._reported_counts:
            return
        before, *_ = self._reported_counts
        self._reported_counts = discovered, read, failed
        oldest = self._cursor.oldest(offset)
        unit.update(discovered=discovered, read=read, oldest=oldest, failed=failed)
        if discovered > before:
            progress = UnitProgressed(time.time(), unit.id, None, 0, {"tasks": discovered - before}, seconds=seconds)
            unit.report(Progressed(self.number, progress))
        tasks = OpenTasks(oldest=oldest, failed=failed)
        unit.report(Seen(UnitMeasured(time.time(), unit.id, {"tasks": discovered - read}, tasks=tasks)))
