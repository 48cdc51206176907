"""A streamlet under test: its ports as taps, its queries run step by step on real topics and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan, OutletPlan, StreamletPlan
from blueprint.spelling import suggestion
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.context import SparkStreamletContext, StreamingWrite
from streamlets.runner.spark.binding import TopicBinding, context_of
from streamlets.streamlet import SparkStreamlet
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.session import active
from streamlets.testkit.stepping import Step, run_until, step
from streamlets.testkit.taps import InletTap, OutletTap

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
    ) -> None:
        self.plan = plan
        self._streamlet = streamlet
        self._open_session = open_session
        self._topics = topics
        self._channels = channels
        self._checkpoints = checkpoints
        self._taps: dict[str, InletTap | OutletTap] = {}
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
        with active(self.context.session):
            if self._writes is None or not all(isinstance(write, StreamingWrite) for write in self._writes):
                self._writes = self._build()
            return step(self._writes, self.context)

    def run_until(self, condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
        """Run all queries as `flow run` would until a condition holds; for sources whose records come with time.

        Arguments:
            condition: asked several times a second.
            seconds: after which it gives up.

        Raises:
            StreamletError, StepFailedError: as `step`.
            TestkitError: the condition does not hold in time.
        """
        with active(self.context.session):
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
        return self._streamlet.create_logic(self.context).build()

    def _new_context(self) -> SparkStreamletContext:
        session = self._open_session(self.plan)
        return context_of(TopicBinding(self.plan, session, self._topics, self._channels, self._checkpoints))

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
