"""`Site`: where one streamlet runs: its instance, its session, its ports joined to topics, and the building of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.catalog import LoadFailure
from blueprint.plan import AvailableNow, StreamletPlan, Trigger
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.channels.base import BatchWritten, Channel, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.checkpoints.compatibility import require_compatible, store_windows
from streamlets.runner.checkpoints.repair import repair
from streamlets.runner.units.binding import TopicBinding, context_of
from streamlets.runner.units.host import SparkHost
from streamlets.runner.units.record_counts import backlog, rows_read
from streamlets.spark.failure import Failure
from streamlets.spark.plan_tree import plan_tree
from streamlets.spark.session import Spark
from streamlets.triggers import with_trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamlets.spark.listener import QueryListener


# Of a batch whose report Spark has dropped nobody asks what it brought: only so many are remembered.
_REMEMBERED = 1000


class LoadError(Exception):
    """The code is not what it was when it was verified: a class does not load, or a query is gone."""


class Site:
    """One streamlet's place in a run. Its methods may be called from any worker; building is done one at a time.

    Arguments:
        application: the application's name; folder: where modules come from.
        plan: the streamlet's.
        host: the Spark it runs on; its session there is made anew when that one is.
        topics: resource by topic id; channels: by name.
        checkpoints: the application's folder of checkpoints.
        bounded: whether every query works off what there is and ends, whatever else was asked for.
        told: takes what was mended, by the query's name, from any thread.
        print_line: takes text that a sink shows, from any thread.
    """

    def __init__(
        self,
        application: str,
        folder: str,
        plan: StreamletPlan,
        *,
        host: SparkHost,
        topics: Mapping[str, TopicResource],
        channels: Mapping[str, Channel],
        checkpoints: Path,
        listener: QueryListener,
        bounded: bool,
        told: Callable[[str, str], None] = lambda query, what: None,
        print_line: Callable[[str], None] = print,
        version: str = "",
    ) -> None:
        self.application = application
        self.plan = plan
        self.bounded = bounded
        self.listener = listener
        self._folder = folder
        self._host = host
        self._spark: Spark | None = None
        self._topics = topics
        self._channels = channels
        self._checkpoints = checkpoints
        self._told = told
        self._print_line = print_line
        self._version = version
        self._building = threading.Lock()
        self._context: SparkStreamletContext | None = None
        self.output_modes: dict[str, str] = {}
        self._written: dict[tuple[str, int], BatchWritten] = {}  # not yet asked for, oldest first
        self._telling = threading.Lock()

    def build(self) -> tuple[StreamingWrite | StreamingQuery, ...]:
        """Make the logic and its queries anew, not started but for those that the author starts.

        Raises:
            BaseException: whatever the author's code raises, or Spark of it; what it had started is stopped.
        """
        from streamlets.project.loading import load_streamlet
        from streamlets.project.modules import project_at

        with self._building:
            spark = self._host.spark()
            if self._context is None or spark is not self._spark:
                self._context, self._spark = context_of(self._binding(spark)), spark
            self._activate(self._context.session)
            streamlet = load_streamlet(self.plan.class_name, project_at(self._folder), lambda: ())
            if isinstance(streamlet, LoadFailure):
                raise LoadError(streamlet.message)
            with _stopping_what_was_started(self._context.session):
                return streamlet.create_logic(self._context).build()

    def start(self, write: StreamingWrite) -> StreamingQuery:
        """Start one query under its name, on its checkpoint, with its trigger.

        Raises:
            DamagedCheckpointError: its checkpoint cannot be mended.
            CheckpointMisfitError: it is no longer the query that its checkpoint is of.
        """
        assert self._context is not None, "what is started was built"
        self._look_at_checkpoint(write, self._context.session)
        trigger = self.trigger(write)
        writer = with_trigger(write.writer, trigger) if trigger else write.writer
        self._activate(self._context.session)
        query = (
            writer.queryName(f"{self.application}.{self.plan.ref}.{write.query}")
            .option("checkpointLocation", self._context.checkpoint_dir(write.query))
            .start()
        )
        self.output_modes[write.query] = _output_mode(query)
        return query

    def trigger(self, write: StreamingWrite) -> Trigger | None:
        """When a query looks for news: command line, settings and blueprint, code; None is as fast as it goes."""
        if self.bounded:
            return AvailableNow()
        return self.plan.queries.get(write.query) or self.plan.trigger or write.trigger

    def written(self, query: str, batch: int) -> BatchWritten | None:
        """What a finished batch brought to topics, as the channel told it."""
        with self._telling:
            return self._written.pop((query, batch), None)

    def backlog(self, report: Mapping[str, Any]) -> dict[str, int]:
        """Records not yet read by inlet, from the positions in a progress report."""
        return backlog(report, self.plan.inlets, self._topics)

    def rows_read(self, report: Mapping[str, Any], executions: int) -> int:
        """Records that a batch has read; see `record_counts.rows_read`."""
        return rows_read(report, self.plan.inlets, self._topics, executions)

    @property
    def alive(self) -> bool:
        """Whether Spark is there."""
        return self._host.alive

    def failure(self) -> Failure | None:
        """Why nothing works just now, whatever an error says: Spark is gone; None when it is there."""
        return self._host.failure()

    def _look_at_checkpoint(self, write: StreamingWrite, session: SparkSession) -> None:
        """Before Spark meets it: damage is mended or refused, and so is what Spark could not carry over."""
        folder = self._checkpoints / self.plan.ref / write.query
        for what in repair(folder, may_have_written(write, self.plan.ref, self._channels.values())):
            self._told(write.query, what)
        checkpoint = read_checkpoint(folder)
        plan = plan_tree(write.writer._df)  # noqa: SLF001 - Spark's writer does not tell
        require_compatible(checkpoint, plan, source_evolution=session.conf.get(SOURCE_EVOLUTION, "false") == "true")
        with suppress(OSError):  # on a full disk Spark fails, too
            store_windows(checkpoint, plan)

    def _binding(self, spark: Spark) -> TopicBinding:
        settings = dict(self.plan.spark)
        if not self.plan.source_evolution:
            settings[SOURCE_EVOLUTION] = "false"
        session = spark.child(settings)
        self._activate(session)  # first: Spark looks for sources of a name in the active session, too
        for channel in self._channels.values():
            channel.prepare(session)
        self.listener.attach(session)
        return TopicBinding(
            self.plan,
            session,
            self._topics,
            self._channels,
            self._checkpoints,
            self._version,
            self._on_batch,
            self._print_line,
        )

    def _on_batch(self, written: BatchWritten) -> None:
        with self._telling:
            self._written[written.query, written.batch] = written
            while len(self._written) > _REMEMBERED:
                del self._written[next(iter(self._written))]

    @staticmethod
    def _activate(session: SparkSession) -> None:
        """`SparkSession.active()` in the author's code means the streamlet's own session."""
        jvm: Any = session._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def may_have_written(
    write: StreamingWrite, streamlet: str, channels: Iterable[Channel]
) -> Callable[[Checkpoint, int], bool]:
    """Whether anything of a batch was written: channels know of theirs, sinks with a record too; of other sinks nobody
    knows."""

    def asked(checkpoint: Checkpoint, batch: int) -> bool:
        if write.outlets:
            return any(channel.may_have_written(streamlet, write.query, checkpoint.id, batch) for channel in channels)
        return write.record is None or write.record.may_have_written(checkpoint.id, batch)

    return asked


@contextmanager
def _stopping_what_was_started(session: SparkSession) -> Iterator[None]:
    """On a failure stop the queries begun meanwhile: nobody watches them, and they would be in the next start's way."""
    before = {query.runId for query in session.streams.active}
    try:
        yield
    except BaseException:
        with suppress(Exception):  # Spark may be gone; the failure is the one to tell
            for query in session.streams.active:
                if query.runId not in before:
                    query.stop()
        raise


def _output_mode(query: StreamingQuery) -> str:
    """`append`, `update` or `complete`; the handle does not say it, the execution behind it does."""
    execution: Any = query._jsq  # noqa: SLF001
    return str(execution.streamingQuery().outputMode()).lower()
