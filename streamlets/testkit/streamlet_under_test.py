"""A streamlet under test: taps for its ports, and steps of its queries on real topics and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan, OutletPlan, StreamletPlan
from blueprint.settings.options import typed_options
from blueprint.spelling import suggestion
from blueprint.wording import in_seconds
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.hooks import Hook, StopCause
from streamlets.api.streamlet import SparkStreamlet
from streamlets.batches import BatchWritten
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.egress.base import SinkFiles
from streamlets.egress.registry import SINKS
from streamlets.egress.sink import Sink
from streamlets.runner.units.binding import TopicBinding, context_of
from streamlets.runner.units.record_counts import rows_read
from streamlets.spark.session import active
from streamlets.sql import Sql
from streamlets.sql.testing import queries_of
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.guard import Guard
from streamlets.testkit.outside_paths import OutsidePaths
from streamlets.testkit.step import STEP_SECONDS, Step, run_until, step
from streamlets.testkit.taps import InletTap, OutletTap, SinkTap
from streamlets.time_limit import TimeLimitError, time_limit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamlets.api.logic import SparkStreamletLogic

P = TypeVar("P", InletPlan, OutletPlan)


class StreamletUnderTest:
    """A streamlet that a test steps; `Testkit.streamlet` and `ApplicationUnderTest.streamlet` return it.

    Attributes:
        plan: its plan.
        context: the context of its logic.
    """

    def __init__(
        self,
        streamlet: SparkStreamlet,
        plan: StreamletPlan,
        open_session: Callable[[StreamletPlan], SparkSession],
        topics: Mapping[str, TopicResource],
        channels: Mapping[str, Channel],
        checkpoints: Path,
        outside: OutsidePaths | None = None,
        seconds: float = STEP_SECONDS,
    ) -> None:
        """Create the context of a streamlet.

        Arguments:
            streamlet: the streamlet.
            plan: its plan.
            open_session: opens its Spark session.
            topics: topics by id.
            channels: channels by name.
            checkpoints: the directory of checkpoints.
            outside: moves paths outside of the kit into it; None permits real paths.
            seconds: the limit of a step, unless `step` has one.
        """
        self.plan = plan if outside is None else outside.redirect(streamlet, plan)
        self._guard = Guard(plan.ref, outside, outside.allow) if outside is not None else None
        self._streamlet = streamlet
        self._open_session = open_session
        self._topics = topics
        self._channels = channels
        self._checkpoints = checkpoints
        self._seconds = seconds
        self._taps: dict[str, InletTap | OutletTap | SinkTap] = {}
        self._executions: dict[tuple[str, int], int] = {}  # of each batch, by query and number
        self._writes: tuple[StreamingWrite | StreamingQuery, ...] | None = None
        self._logic: SparkStreamletLogic[Any] | None = None
        self.context = self._new_context()

    def inlet(self, name: str) -> InletTap:
        """Return the tap that writes records to an inlet.

        Arguments:
            name: the name of the inlet in the blueprint.

        Raises:
            TestkitError: there is no inlet with this name.
        """
        port = self._port(name, self.plan.inlets, "inlet")
        tap = self._taps.setdefault(f"inlet {name}", InletTap(self._topics[port.topic], port.contract))
        assert isinstance(tap, InletTap)
        return tap

    def outlet(self, name: str) -> OutletTap:
        """Return the tap that reads the records of an outlet.

        Arguments:
            name: the name of the outlet in the blueprint.

        Raises:
            TestkitError: there is no outlet with this name.
        """
        port = self._port(name, self.plan.outlets, "outlet")
        return self._outlet_tap(f"outlet {name}", port.topic, port.contract)

    def sink(self, query: str | None = None) -> SinkTap:
        """Return the tap that reads the output of a `streamlets.Sink`, or of a query that writes files.

        Arguments:
            query: the name of the query; it may be omitted if there is only one.

        Raises:
            TestkitError: there is no such query, or its output cannot be read.
        """
        if isinstance(self._streamlet, Sink):
            return self._taps.setdefault("sink", self._sink())  # type: ignore[return-value]
        if isinstance(self._streamlet, Sql):
            sinks = self._sql_sinks()
        else:
            sinks = self._guard.sinks if self._guard is not None else {}
        if query is None and len(sinks) == 1:
            (query,) = sinks
        if query not in sinks:
            known = ", ".join(f"`{name}`" for name in sinks) or "none"
            raise TestkitError(
                f"`{self.plan.ref}` has no query{f' `{query}`' if query else ''} whose files can be read; "
                f"queries after its first step: {known}"
            )
        tap = SinkTap(lambda: self.context.session, sinks[query])
        return self._taps.setdefault(f"sink {query}", tap)  # type: ignore[return-value]

    def path(self, name: str) -> Path:
        """Return the path in this test of a parameter or a volume mount.

        Arguments:
            name: the key of the parameter or the name of the mount.

        Raises:
            TestkitError: there is no such parameter or mount.
        """
        value = self.plan.volume_mounts.get(name, self.plan.parameters.get(name))
        if not isinstance(value, str | Path):
            names = sorted((*self.plan.volume_mounts, *self.plan.parameters))
            raise TestkitError(f"`{self.plan.ref}` has no path `{name}`; {suggestion(name, names)}")
        return self.context.path(str(value))

    @property
    def dead_letters(self) -> OutletTap:
        """The records that broke the contract of an outlet with `on_invalid="dead-letters"`, with their reasons.

        Raises:
            TestkitError: there is no such outlet.
        """
        if self.plan.dead_letters is None:
            raise TestkitError(f'`{self.plan.ref}` has no dead letters: no port has on_invalid="dead-letters"')
        return self._outlet_tap("dead letters", self.plan.dead_letters, dead_letter_contract())

    def step(self, *, seconds: float | None = None) -> Step:
        """Run each query from its checkpoint until it has processed all available data.

        The first step calls `on_start` of the logic; `on_stop` is called by `restart`, and when the kit is closed.
        Watermarks advance between batches: a window is output in the step with the record that closes it.

        Arguments:
            seconds: the limit for all queries; default: the kit's.

        Raises:
            StreamletError: the logic uses the API in an invalid way.
            StepFailedError: a query failed; its checkpoint is unchanged, and the next step tries again.
            TestkitError: the queries do not end in time.
        """
        with active(self.context.session), self._contained():
            if self._writes is None or not all(isinstance(write, StreamingWrite) for write in self._writes):
                self._writes = self._build()
            return step(self._writes, self.context, self._rows_read, self._seconds if seconds is None else seconds)

    def run_until(self, condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
        """Run all queries as `flow run` would until a condition is true, for sources that produce records over time.

        Arguments:
            condition: the condition, which is checked several times per second.
            seconds: the timeout in seconds.

        Raises:
            StreamletError: as for `step`.
            StepFailedError: as for `step`.
            TestkitError: the condition is not true in time.
        """
        with active(self.context.session), self._contained():
            self._writes = self._build()
            run_until(condition, self._writes, self.context, seconds)

    def restart(self, streamlet: SparkStreamlet | type[SparkStreamlet] | None = None) -> None:
        """Restart from the checkpoints, with a new session, a new instance and a new logic.

        Arguments:
            streamlet: a changed version with the same ports and parameters, to test whether it continues from the
                checkpoints of the old one; default: the same class.
        """
        self.close()
        version = type(self._streamlet) if streamlet is None else streamlet
        self._streamlet = version() if isinstance(version, type) else version
        self._streamlet.declare_ports(
            [inlet.name for inlet in self.plan.inlets], [outlet.name for outlet in self.plan.outlets]
        )
        self.context = self._new_context()

    def close(self) -> None:
        """Call `on_stop` of the logic if it was started; the next step starts a new one."""
        logic, self._logic, self._writes = self._logic, None, None
        if logic is not None:
            self._call("on_stop", lambda: logic.on_stop(StopCause("stopped")))

    def _build(self) -> tuple[StreamingWrite | StreamingQuery, ...]:
        if self._logic is None:
            with self._authors():
                logic = self._streamlet.create_logic(self.context)
            self._call("on_start", logic.on_start)
            self._logic = logic
        with self._authors():
            return self._logic.build()

    def _call(self, hook: Hook, call: Callable[[], None]) -> None:
        """Call a hook with the limit of a step.

        Raises:
            TestkitError: it has not returned in time.
        """
        try:
            with active(self.context.session), self._authors(), time_limit(self._seconds):
                call()
        except TimeLimitError:
            late = f"did not return within {in_seconds(self._seconds)}"
            raise TestkitError(f"`{hook}` of `{self.plan.ref}` {late}") from None

    def _authors(self) -> AbstractContextManager[None]:
        return self._guard.authors() if self._guard is not None else nullcontext()

    def _contained(self) -> AbstractContextManager[None]:
        return self._guard.watching() if self._guard is not None else nullcontext()

    def _sink(self) -> SinkTap:
        """Return the tap for a `streamlets.Sink`.

        Raises:
            TestkitError: it is the real sink, whose output a test cannot read.
        """
        sink = SINKS[str(self.plan.parameters["to"])]
        options: Any = self.plan.parameters["options"]
        files = sink.files(typed_options(sink.traits, options, self.context.directory))
        if files is None:
            raise TestkitError(
                f"the output of `{self.plan.ref}` cannot be read, because the sink `{sink.traits.name}` does not write "
                f"files that a test can read"
            )
        return SinkTap(lambda: self.context.session, files, self.plan.inlets[0].contract)

    def _sql_sinks(self) -> dict[str, SinkFiles]:
        """Return the files of each query of a `streamlets.Sql` that writes files."""
        sinks = {}
        parameters: Any = self.plan.parameters
        for query in queries_of(parameters["statements"], parameters["variables"], self._streamlet.shape):
            if query.outlet is not None:
                continue
            sink, written = SINKS[query.sink], {name: option.value.text for name, option in query.options.items()}
            files = sink.files(typed_options(sink.traits, written, self.context.directory))
            if files is not None:
                sinks[query.name] = files
        return sinks

    def _rows_read(self, report: Mapping[str, Any]) -> int:
        query = str(report.get("name")).removeprefix(f"{self.plan.ref}.")
        executions = self._executions.get((query, int(report["batchId"])), 1)
        return rows_read(report, self.plan.inlets, self._topics, executions)

    def _batch_written(self, written: BatchWritten) -> None:
        self._executions[written.query, written.batch] = written.executions

    def _new_context(self) -> SparkStreamletContext:
        session = self._open_session(self.plan)
        binding = TopicBinding(
            plan=self.plan,
            session=session,
            topics=self._topics,
            channels=self._channels,
            checkpoints=self._checkpoints,
            on_batch=self._batch_written,
        )
        return context_of(binding)

    def _outlet_tap(self, key: str, topic: str, contract: Contract) -> OutletTap:
        tap = self._taps.setdefault(key, OutletTap(self._topics[topic], contract))
        assert isinstance(tap, OutletTap)
        return tap

    def _port(self, name: str, ports: tuple[P, ...], noun: str) -> P:
        for port in ports:
            if port.name == name:
                return port
        names = [port.name for port in ports]
        raise TestkitError(f"`{self.plan.ref}` has no {noun} `{name}`; {suggestion(name, names)}")
