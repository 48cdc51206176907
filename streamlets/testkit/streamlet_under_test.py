"""A streamlet under test: its ports as taps, its queries run step by step on real topics and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan, OutletPlan, StreamletPlan
from blueprint.spelling import suggestion
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.streamlet import SparkStreamlet
from streamlets.channels.base import BatchWritten, Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.egress.capabilities import SINKS
from streamlets.egress.sink import Sink, spark_options
from streamlets.runner.units.binding import TopicBinding, context_of
from streamlets.runner.units.record_counts import rows_read
from streamlets.spark.session import active
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.guard import Guard
from streamlets.testkit.outside_paths import Outside
from streamlets.testkit.stepping import Step, run_until, step
from streamlets.testkit.taps import InletTap, OutletTap, SinkTap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

P = TypeVar("P", InletPlan, OutletPlan)


class StreamletUnderTest:
    """One streamlet, stepped by hand. `Testkit.streamlet` and `ApplicationUnderTest.streamlet` give it.

    Attributes:
        plan: what it runs by.
        context: what its logic runs in.
    """

    def __init__(
        self,
        streamlet: SparkStreamlet,
        plan: StreamletPlan,
        open_session: Callable[[StreamletPlan], SparkSession],
        topics: Mapping[str, TopicResource],
        channels: Mapping[str, Channel],
        checkpoints: Path,
        outside: Outside | None = None,
        allow: str = "real=True",
    ) -> None:
        """Put a streamlet under test.

        Arguments:
            outside: where the world outside is; None for the real one.
            allow: what the test writes to work on the real one.
        """
        self.plan = plan if outside is None else outside.redirect(streamlet, plan)
        self._guard = Guard(plan.ref, outside, allow) if outside is not None else None
        self._streamlet = streamlet
        self._open_session = open_session
        self._topics = topics
        self._channels = channels
        self._checkpoints = checkpoints
        self._taps: dict[str, InletTap | OutletTap | SinkTap] = {}
        self._executions: dict[tuple[str, int], int] = {}  # of each batch, by query and number
        self._writes: tuple[StreamingWrite | StreamingQuery, ...] | None = None
        self.context = self._new_context()

    def inlet(self, name: str) -> InletTap:
        """What feeds an inlet.

        Raises:
            TestkitError: there is no inlet of the name.
        """
        port = self._port(name, self.plan.inlets, "inlet")
        tap = self._taps.setdefault(f"inlet {name}", InletTap(self._topics[port.topic], port.contract))
        assert isinstance(tap, InletTap)
        return tap

    def outlet(self, name: str) -> OutletTap:
        """What comes out of an outlet.

        Raises:
            TestkitError: there is no outlet of the name.
        """
        port = self._port(name, self.plan.outlets, "outlet")
        return self._out(f"outlet {name}", port.topic, port.contract)

    def sink(self, query: str | None = None) -> SinkTap:
        """The rows that it has brought out of the application: as `streamlets.Sink`, or by a query of its own that
        writes files.

        Arguments:
            query: which of its queries; may be omitted where there is only one.

        Raises:
            TestkitError: it has no such query, or what it has written cannot be read back.
        """
        if isinstance(self._streamlet, Sink):
            return self._taps.setdefault("sink", self._sink())  # type: ignore[return-value]
        sinks = self._guard.sinks if self._guard is not None else {}
        if query is None and len(sinks) == 1:
            (query,) = sinks
        if query not in sinks:
            known = ", ".join(f"`{name}`" for name in sinks) or "none"
            raise TestkitError(
                f"`{self.plan.ref}` has no query{f' `{query}`' if query else ''} whose files could be read; after "
                f"its first step it has: {known}"
            )
        files = sinks[query]
        tap = SinkTap(lambda: self.context.session, files.root, files.format, files.options)
        return self._taps.setdefault(f"sink {query}", tap)  # type: ignore[return-value]

    def path(self, name: str) -> Path:
        """Where a path is in this test that the streamlet is given: the value of a parameter, or a volume mount.

        Arguments:
            name: the parameter's key or the mount's name.

        Raises:
            TestkitError: it has neither.
        """
        value = self.plan.volume_mounts.get(name, self.plan.parameters.get(name))
        if not isinstance(value, str | Path):
            names = sorted((*self.plan.volume_mounts, *self.plan.parameters))
            raise TestkitError(f"`{self.plan.ref}` is given no path `{name}`; {suggestion(name, names)}")
        return self.context.path(str(value))

    @property
    def dead_letters(self) -> OutletTap:
        """The records that broke the contract of an outlet with `on_invalid="dead-letters"`, with their reasons.

        Raises:
            TestkitError: no outlet says so.
        """
        if self.plan.dead_letters is None:
            raise TestkitError(f'no outlet of `{self.plan.ref}` has on_invalid="dead-letters", so there are none')
        return self._out("dead letters", self.plan.dead_letters, dead_letter_contract())

    def step(self) -> Step:
        """Work off what there is now, each query from its checkpoint, and end.

        Watermarks move between batches: what an event closes comes out in the step that brought the event.

        Raises:
            StreamletError: the logic asks for something that cannot be.
            StepFailedError: a query failed; its checkpoint stays where it was, and the next step tries again.
        """
        with active(self.context.session), self._contained():
            if self._writes is None or not all(isinstance(write, StreamingWrite) for write in self._writes):
                self._writes = self._build()
            return step(self._writes, self.context, self._rows_read)

    def run_until(self, condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
        """Run all queries as `flow run` would until a condition holds; for sources whose records come with time.

        Arguments:
            condition: asked several times a second.
            seconds: after which it gives up.

        Raises:
            StreamletError, StepFailedError: as `step`.
            TestkitError: the condition does not hold in time.
        """
        with active(self.context.session), self._contained():
            self._writes = self._build()
            run_until(condition, self._writes, self.context, seconds)

    def restart(self, streamlet: SparkStreamlet | type[SparkStreamlet] | None = None) -> None:
        """Begin anew from the checkpoints: a new session, a new instance, a new logic.

        Arguments:
            streamlet: a changed version with the same ports and parameters, to see whether it carries on where the
                old one was.
        """
        version = type(self._streamlet) if streamlet is None else streamlet
        self._streamlet = version() if isinstance(version, type) else version
        self._writes = None
        self.context = self._new_context()

    def _build(self) -> tuple[StreamingWrite | StreamingQuery, ...]:
        with self._guard.authors() if self._guard is not None else nullcontext():
            return self._streamlet.create_logic(self.context).build()

    def _contained(self) -> AbstractContextManager[None]:
        return self._guard.watching() if self._guard is not None else nullcontext()

    def _sink(self) -> SinkTap:
        """What `streamlets.Sink` writes, with its schema.

        Raises:
            TestkitError: it shows its rows on the real terminal.
        """
        traits = SINKS[str(self.plan.parameters["to"])]
        options: Any = self.plan.parameters["options"]
        if "path" not in options:
            raise TestkitError(f"`{self.plan.ref}` shows its rows on the terminal, where they cannot be read back")
        settings = traits.settings(options)
        root = self.context.path(str(settings["path"]))
        contract = self.plan.inlets[0].contract
        return SinkTap(lambda: self.context.session, root, traits.name, spark_options(traits, settings), contract)

    def _rows_read(self, report: Mapping[str, Any]) -> int:
        query = str(report.get("name")).removeprefix(f"{self.plan.ref}.")
        executions = self._executions.get((query, int(report["batchId"])), 1)
        return rows_read(report, self.plan.inlets, self._topics, executions)

    def _batch_written(self, written: BatchWritten) -> None:
        self._executions[written.query, written.batch] = written.executions

    def _new_context(self) -> SparkStreamletContext:
        session = self._open_session(self.plan)
        binding = TopicBinding(
            self.plan, session, self._topics, self._channels, self._checkpoints, on_batch=self._batch_written
        )
        return context_of(binding)

    def _out(self, key: str, topic: str, contract: Contract) -> OutletTap:
        tap = self._taps.setdefault(key, OutletTap(self._topics[topic], contract))
        assert isinstance(tap, OutletTap)
        return tap

    def _port(self, name: str, ports: tuple[P, ...], what: str) -> P:
        for port in ports:
            if port.name == name:
                return port
        names = [port.name for port in ports]
        raise TestkitError(f"`{self.plan.ref}` has no {what} `{name}`; {suggestion(name, names)}")
