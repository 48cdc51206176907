"""`Site`: a streamlet on a Spark, with its session and ports joined to topics; builds and starts its queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.plan import StreamletPlan
from blueprint.trigger import AvailableNow, RealTime, Trigger
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.hooks import StopCause
from streamlets.batches import BatchWritten
from streamlets.channels.base import Channel, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.checkpoints.compatibility import (
    keeps_state,
    require_compatible,
    require_same_logic,
    store_windows,
)
from streamlets.runner.checkpoints.fused_queries import FusedQuery, require_topology
from streamlets.runner.checkpoints.repair import repair, require_complete
from streamlets.runner.checkpoints.watermark import BATCHES_WITHOUT_ROWS, with_batch_after_watermark
from streamlets.runner.events.record_events import RecordsLate
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import CheckpointRepaired, UnitProgressed, UnitWarned
from streamlets.runner.hosts import Log
from streamlets.runner.state_directory.checkpoint_links import link_checkpoint
from streamlets.runner.supervision.facts import Fact, Seen
from streamlets.runner.units.binding import TopicBinding, context_of
from streamlets.runner.units.followups import FollowUps
from streamlets.runner.units.hooks import HookedLogic, HookLimits, Logic
from streamlets.runner.units.late_records import records_late
from streamlets.runner.units.lost_records import require_records
from streamlets.runner.units.record_counts import backlog, rows_by_inlet
from streamlets.runner.units.replicas import limits, require_no_replicas, session_settings
from streamlets.runner.units.requirements import (
    require_no_deduplication,
    require_reported_inlets,
    require_supported_triggers,
)
from streamlets.runner.units.spark_keeper import SparkKeeper
from streamlets.runner.units.task_slots import TaskSlots
from streamlets.spark.failure import Failure
from streamlets.spark.plan_tree import plan_tree
from streamlets.spark.query_logic import logic_of
from streamlets.spark.real_time import prepare_for_real_time, shuffle_tasks, task_slots
from streamlets.spark.session import Spark
from streamlets.spark.stream_writer import facts, rows_of
from streamlets.triggers import trigger_of, with_trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamlets.spark.listener import QueryListener


# What a batch wrote is never requested if Spark dropped its report, so only this many are kept.
_KEPT_BATCHES = 1000


class LoadError(Exception):
    """The code has changed since it was verified: a class does not load, or a query no longer exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteContext:
    """The dependencies that the sites of a driver share; the callbacks may be called from any thread.

    Arguments:
        application: the name of the application.
        directory: the directory that modules are imported from.
        spark: the Spark that they run on; a new Spark gets new sessions.
        topics: the topics by id.
        channels: the channels by name.
        checkpoints: the application's directory of checkpoints.
        listener: reports the batches of their queries.
        bounded: whether every query processes all available data and ends, whatever its trigger.
        report: takes facts about checkpoints.
        log: takes the full text of errors.
        print_line: takes lines that a sink shows.
        slots: the task slots of the Spark.
        spark_settings: the Spark settings of the application.
    """

    application: str
    directory: str
    spark: SparkKeeper
    topics: Mapping[str, TopicResource]
    channels: Mapping[str, Channel]
    checkpoints: Path
    listener: QueryListener
    bounded: bool = False
    report: Callable[[Fact], None]
    log: Log = lambda unit, text: None
    print_line: Callable[[str], None] = print
    slots: TaskSlots = field(default_factory=TaskSlots)
    spark_settings: Mapping[str, str] = field(default_factory=dict)


class Site:
    """A streamlet in a run. Its methods may be called from any worker; only one builds at a time."""

    def __init__(self, plan: StreamletPlan, context: SiteContext) -> None:
        self.plan = plan
        self.bounded = context.bounded
        self.listener = context.listener
        self._site = context
        self._spark: Spark | None = None
        self._building = threading.Lock()
        self._context: SparkStreamletContext | None = None
        self._built_for: tuple[bool, int | None] = False, None  # the arguments of `build` that the context is for
        self.output_modes: dict[str, str] = {}
        self._written: dict[tuple[str, int], BatchWritten] = {}  # not yet requested, oldest first
        self._written_lock = threading.Lock()
        self._warned: set[tuple[UnitId, str]] = set()
        settings = plan.settings
        self.logic = HookedLogic(
            HookLimits(settings.on_start_timeout.seconds, settings.on_stop_timeout.seconds),
            lambda logic: self._activate(logic.context.session),
            lambda text: context.log(UnitId(plan.ref), text),
        )
        self.followups = FollowUps(
            plan,
            context.application,
            context.topics,
            context.checkpoints,
            lambda: self.session,
            lambda event: context.report(Seen(event)),
        )

    def build(
        self, unit: UnitId, *, last: bool = False, replicas: int | None = None
    ) -> tuple[StreamingWrite | StreamingQuery, ...]:
        """Build the queries with the streamlet's logic; only queries that the author starts are running.

        Arguments:
            unit: the unit that uses the logic from now on, see `HookedLogic.opened`.
            last: whether they are built for a run that processes all available data and ends, whatever their triggers.
            replicas: the number of tasks that work side by side; None for the setting.

        Raises:
            BaseException: the author's code failed; the queries that it had started are stopped.
        """
        with self._building:
            spark = self._site.spark.spark()
            built_for = last, replicas
            if self._context is None or spark is not self._spark or built_for != self._built_for:
                lost = self._spark is not None and spark is not self._spark
                self.logic.close(StopCause("failed", "Spark has exited") if lost else StopCause("stopped"))
                binding = self.binding(spark, self._scaled(replicas), last=last)
                self._context, self._spark, self._built_for = context_of(binding), spark, built_for
            context = self._context
            self._activate(context.session)
            with _stopping_new_queries_on_failure(context.session):
                built = self.logic.opened(unit, lambda: self.create_logic(context)).build()
                require_supported_triggers(built)
                return built

    def start(self, write: StreamingWrite, *, last: bool = False) -> StreamingQuery:
        """Start one query under its name, on its checkpoint, with its trigger.

        Arguments:
            last: whether it processes all available data and ends, whatever its trigger.

        Raises:
            DamagedCheckpointError: its checkpoint cannot be repaired, or has lost batches.
            CheckpointMisfitError: it is incompatible with its checkpoint.
        """
        assert self._context is not None, "a query is built before it is started"
        trigger = AvailableNow() if last else self.trigger(write)
        self._prepare_checkpoint(write, self._context.session, trigger)
        writer = with_trigger(write.writer, trigger) if trigger else write.writer
        self._activate(self._context.session)
        tasks = 0
        if isinstance(trigger, RealTime):
            require_no_replicas(write, self._scaled(self._built_for[1]))
            require_no_deduplication(write, self.plan, self._site.topics)
            require_reported_inlets(write.query, self.plan, self._site.topics, write.place)
            prepare_for_real_time(self._context.session)
            tasks = self._real_time_tasks(write)
        self._site.slots.reserve(f"{self.plan.ref}.{write.query}", tasks, task_slots(self._context.session))
        query = (
            writer.queryName(f"{self._site.application}.{self.plan.ref}.{write.query}")
            .option("checkpointLocation", self._context.checkpoint_dir(write.query))
            .start()
        )
        self.output_modes[write.query] = _output_mode(query)
        return query

    def trigger(self, write: StreamingWrite) -> Trigger | None:
        """Return a query's trigger: from the command line, settings and blueprint, or code; None for no pause."""
        if self.bounded:
            return AvailableNow()
        return trigger_of(self.plan, write.query, write.trigger)

    def written(self, query: str, batch: int) -> BatchWritten | None:
        """Return the records that a finished batch wrote to topics, as reported by the channel."""
        with self._written_lock:
            return self._written.pop((query, batch), None)

    def fused_into(self, write: StreamingWrite) -> FusedQuery:
        """Return the queries and topics that are fused into a query, none in general; see `fused_chain.py`."""
        return FusedQuery()

    def shared(self, progress: UnitProgressed, report: Mapping[str, Any], executions: int) -> UnitProgressed:
        """Return the progress of a query without the part of the streamlets that are fused into it."""
        return progress

    def backlog(self, report: Mapping[str, Any]) -> dict[str, int]:
        """Return the number of records not yet read by inlet, from the positions in a progress report."""
        return backlog(report, self.plan.inlets, self._site.topics)

    def rows_read(self, report: Mapping[str, Any], executions: int) -> dict[str, int]:
        """Return the number of records that a batch has read by inlet; see `record_counts.rows_by_inlet`."""
        return rows_by_inlet(report, self.plan.inlets, self._site.topics, executions)

    def records_late(self, report: Mapping[str, Any], unit: UnitId, time: float, executions: int) -> RecordsLate | None:
        """Return the late records that deduplication has dropped at inlets; see `late_records.records_late`."""
        return records_late(report, unit, time, self.plan.inlets, self._site.topics, executions)

    @property
    def alive(self) -> bool:
        """Whether Spark is running."""
        return self._site.spark.alive

    def failure(self) -> Failure | None:
        """Return the exit of Spark as a failure, which is the cause of any other error; None if it is running."""
        return self._site.spark.failure()

    def _prepare_checkpoint(self, write: StreamingWrite, session: SparkSession, trigger: Trigger | None) -> None:
        """Repair damage before Spark reads the checkpoint, and refuse a query that is incompatible with it."""
        assert self._context is not None, "a query is built before it is started"
        directory, channels = self._site.checkpoints / self.plan.ref / write.query, self._site.channels.values()
        if write.checkpoint is not None:
            link_checkpoint(directory, write.checkpoint, f"{self.plan.ref}.{write.query}")
        for what in repair(directory, may_have_written(write, self.plan.ref, channels)):
            repaired = CheckpointRepaired(time.time(), UnitId(self.plan.ref, write.query), what)
            self._site.report(Seen(repaired))
        require_complete(directory, drops_known_batches(write, self.plan.ref, channels))
        checkpoint = read_checkpoint(directory)
        require_topology(checkpoint, self.fused_into(write), may_have_written(write, self.plan.ref, channels))
        batches_without_rows = session.conf.get(BATCHES_WITHOUT_ROWS, "true") == "true"
        if batches_without_rows and not isinstance(trigger, RealTime):
            checkpoint = with_batch_after_watermark(checkpoint, time.time())
        plan = plan_tree(write.writer._df)  # noqa: SLF001 - Spark's writer has no public access to it
        require_compatible(checkpoint, plan, source_evolution=session.conf.get(SOURCE_EVOLUTION, "false") == "true")
        replicas = self._scaled(self._built_for[1]).settings.replicas
        for what in limits(replicas, session, checkpoint, plan) if replicas is not None else ():
            self._warn_once(write.query, what)
        with suppress(OSError):  # on a full disk Spark fails, too
            store_windows(checkpoint, plan)
            if keeps_state(plan):
                rows = rows_of(write.writer)
                logic = logic_of(rows, facts(write.writer).mode, self.plan, self._context.inlet_sources)
                if warning := require_same_logic(checkpoint, logic):
                    unit = UnitId(self.plan.ref, write.query)
                    self._site.report(Seen(UnitWarned(time.time(), unit, warning)))
        require_records(self.plan, checkpoint, self._site.topics, lambda missed: self._site.report(Seen(missed)))
        self.followups.starting(write.query, checkpoint)

    def _warn_once(self, query: str, what: str) -> None:
        """Report a warning about a query, unless it was reported before a restart."""
        unit = UnitId(self.plan.ref, query)
        if (unit, what) not in self._warned:
            self._warned.add((unit, what))
            self._site.report(Seen(UnitWarned(time.time(), unit, what)))

    def create_logic(self, context: SparkStreamletContext) -> Logic:
        """Create the streamlet's logic in a context.

        Raises:
            LoadError: its class is no longer what was verified.
            BaseException: the author's code failed.
        """
        from streamlets.api.streamlet import SparkStreamlet
        from streamlets.project.loading import StreamletNotLoadedError, streamlet_of
        from streamlets.project.modules import project_at

        try:
            streamlet = streamlet_of(self.plan, project_at(self._site.directory))
        except StreamletNotLoadedError as error:
            raise LoadError(error.failure.message) from None
        if not isinstance(streamlet, SparkStreamlet):
            raise LoadError(f"the class `{self.plan.class_name}` is no longer a `SparkStreamlet`")
        return streamlet.create_logic(context)

    @property
    def session(self) -> SparkSession:
        """The session of its queries."""
        assert self._context is not None, "a batch belongs to a query that was built"
        return self._context.session

    def _real_time_tasks(self, write: StreamingWrite) -> int:
        """Return the number of tasks of a query that run as long as it runs in real time."""
        rows = rows_of(write.writer)
        return shuffle_tasks(rows) + sum(channel.source_partitions(rows) for channel in self._site.channels.values())

    def _scaled(self, replicas: int | None) -> StreamletPlan:
        """Return the plan with a number of replicas; None for the setting."""
        own = self.plan.settings
        return self.plan if replicas is None else replace(self.plan, settings=replace(own, replicas=replicas))

    def binding(self, spark: Spark, plan: StreamletPlan, *, last: bool = False) -> TopicBinding:
        """Return the ports of the streamlet on a new session of Spark."""
        own = plan.settings
        settings = session_settings(own.replicas, self._site.spark_settings) | dict(own.spark)
        if not own.source_evolution:
            settings[SOURCE_EVOLUTION] = "false"
        session = spark.child(settings)
        self._activate(session)  # first: Spark also looks for named sources in the active session
        for channel in self._site.channels.values():
            channel.prepare(session)
        self.listener.attach(session)
        return TopicBinding(
            plan=plan,
            session=session,
            topics=self._site.topics,
            channels=self._site.channels,
            checkpoints=self._site.checkpoints,
            on_batch=self.take_batch,
            real_time=not (self._site.bounded or last),
            print_line=self._site.print_line,
        )

    def take_batch(self, written: BatchWritten) -> None:
        """Keep the report of a channel or a sink about a batch until it is requested."""
        with self._written_lock:
            self._written[written.query, written.batch] = written
            while len(self._written) > _KEPT_BATCHES:
                del self._written[next(iter(self._written))]

    @staticmethod
    def _activate(session: SparkSession) -> None:
        """Make the session the active one: `SparkSession.active()` in the author's code is the streamlet's session."""
        jvm: Any = session._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def may_have_written(
    write: StreamingWrite, streamlet: str, channels: Iterable[Channel]
) -> Callable[[Checkpoint, int], bool]:
    """Return a function that returns whether a batch may have been written, partly or completely.

    Channels know, and so do sinks with a record; for other sinks it is always possible.
    """

    def may_be_written(checkpoint: Checkpoint, batch: int) -> bool:
        if write.outlets:
            return any(channel.may_have_written(streamlet, write.query, checkpoint.id, batch) for channel in channels)
        return write.record is None or write.record.may_have_written(checkpoint.id, batch)

    return may_be_written


def drops_known_batches(
    write: StreamingWrite, streamlet: str, channels: Iterable[Channel]
) -> Callable[[Checkpoint, int], bool]:
    """Return a function that returns whether a batch would be dropped because it, or a later one, is decided.

    Channels know, and so do sinks with a record; other sinks drop nothing.
    """

    def would_be_dropped(checkpoint: Checkpoint, batch: int) -> bool:
        if write.outlets:
            return any(channel.has_decided(streamlet, write.query, checkpoint.id, batch) for channel in channels)
        return write.record is not None and write.record.may_have_written(checkpoint.id, batch)

    return would_be_dropped


@contextmanager
def _stopping_new_queries_on_failure(session: SparkSession) -> Iterator[None]:
    """On a failure stop the queries started in the context, which are not watched and would block the next start."""
    before = {query.runId for query in session.streams.active}
    try:
        yield
    except BaseException:
        with suppress(Exception):  # Spark may have exited; the failure itself is reported
            for query in session.streams.active:
                if query.runId not in before:
                    query.stop()
        raise


def _output_mode(query: StreamingQuery) -> str:
    """Return `append`, `update` or `complete`, which only the query's execution knows, not its handle."""
    execution: Any = query._jsq  # noqa: SLF001
    return str(execution.streamingQuery().outputMode()).lower()
