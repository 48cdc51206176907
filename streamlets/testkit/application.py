"""An application under test: it is verified, gets topics of the test, and is stepped in topological order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.tasks import task_contract
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, StreamletPlan
from blueprint.spelling import suggestion
from streamlets.api.streamlet import SparkStreamlet, Streamlet
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.registry import DEFAULT
from streamlets.ingress.batch_sources.streamlet import BatchSource
from streamlets.ingress.spouts.streamlet import GeneratorSpout, Spout
from streamlets.project.loading import StreamletNotLoadedError, streamlet_of
from streamlets.project.modules import project_at
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.testkit.batch_source_under_test import BatchSourceUnderTest
from streamlets.testkit.clock import TestClock
from streamlets.testkit.failures import TestkitError, error_with_findings
from streamlets.testkit.outside_paths import OutsidePaths
from streamlets.testkit.spout_under_test import SpoutUnderTest
from streamlets.testkit.step import STEP_SECONDS, Step
from streamlets.testkit.streamlet_under_test import StreamletUnderTest
from streamlets.testkit.taps import SinkTap, TopicTap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ApplicationUnderTest:
    """An application that a test steps.

    Attributes:
        plan: the verified plan.
    """

    def __init__(
        self,
        plan: ApplicationPlan,
        open_session: Callable[[StreamletPlan], SparkSession],
        topics: Mapping[str, TopicResource],
        channels: Mapping[str, Channel],
        outside: OutsidePaths,
        real: Iterable[str] = (),
        *,
        state: StateDirectory,
        seconds: float = STEP_SECONDS,
    ) -> None:
        """Create the streamlets of an application.

        Arguments:
            plan: the verified plan.
            open_session: opens the Spark session of a streamlet.
            topics: topics by id.
            channels: channels by name.
            outside: moves paths outside of the kit into it.
            real: the names of streamlets that write to their real paths.
            state: the state directory of its spouts.
            seconds: the limit of a step of a streamlet.

        Raises:
            TestkitError: a class cannot be loaded or is of another kind, or `real` has an unknown name.
        """
        self.plan = plan
        real_refs = frozenset(real)
        for ref in sorted(real_refs - {own.ref for own in plan.streamlets}):
            raise TestkitError(_unknown("streamlet", ref, {own.ref: own for own in plan.streamlets}))
        self._topics = topics
        self._taps: dict[str, TopicTap] = {}
        self._streamlets: dict[str, StreamletUnderTest] = {}
        self._spouts: dict[str, SpoutUnderTest] = {}
        self._sources: dict[str, BatchSourceUnderTest] = {}
        self._seconds = seconds
        project = project_at(plan.directory)
        for own in plan.streamlets:
            try:
                streamlet = streamlet_of(own, project)
            except StreamletNotLoadedError as error:
                raise TestkitError(f"the application cannot run: {error}") from None
            if isinstance(streamlet, Spout | GeneratorSpout):
                self._spouts[own.ref] = SpoutUnderTest(streamlet, own, plan.topics, topics, state)
                continue
            if isinstance(streamlet, BatchSource):
                self._sources[own.ref] = self._batch_source(type(streamlet), own)
                continue
            self._streamlets[own.ref] = StreamletUnderTest(
                _on_spark(streamlet, own),
                own,
                open_session,
                topics,
                channels,
                outside.home / "checkpoints",
                None if own.ref in real_refs else replace(outside, allow=f"real=[{own.ref!r}]"),
                seconds,
            )

    def streamlet(self, ref: str) -> StreamletUnderTest:
        """Return a streamlet of the application, to feed, step and read it alone.

        Arguments:
            ref: its name in the blueprint.

        Raises:
            TestkitError: there is no streamlet with this name.
        """
        if ref not in self._streamlets:
            raise TestkitError(_unknown("streamlet", ref, self._streamlets))
        return self._streamlets[ref]

    def spout(self, ref: str) -> SpoutUnderTest:
        """Return a spout of the application, to deliver transactions, run its program or step its generator.

        Arguments:
            ref: its name in the blueprint.

        Raises:
            TestkitError: there is no spout with this name.
        """
        if ref not in self._spouts:
            raise TestkitError(_unknown("spout", ref, self._spouts))
        return self._spouts[ref]

    def batch_source(self, ref: str) -> BatchSourceUnderTest:
        """Return a batch source of the application, to discover and read tasks.

        Arguments:
            ref: its name in the blueprint.

        Raises:
            TestkitError: there is no batch source with this name.
        """
        if ref not in self._sources:
            raise TestkitError(_unknown("batch source", ref, self._sources))
        return self._sources[ref]

    def topic(self, topic_id: str) -> TopicTap:
        """Return a topic of the application, to write and read records.

        Records are written with the schema of the first producer and read with the schema of the first consumer; a
        topic that has only one of both uses its schema for both.

        Arguments:
            topic_id: the key of the topic in the blueprint.

        Raises:
            TestkitError: there is no topic with this id.
        """
        if topic_id not in self._topics:
            raise TestkitError(_unknown("topic", topic_id, self._topics))
        if topic_id not in self._taps:
            ports: list[InletPlan | OutletPlan] = []
            for own in self.plan.streamlets:
                ports += [*own.outlets, *own.inlets]
            contracts = {type(port): port.contract for port in reversed(ports) if port.topic == topic_id}
            is_tasks = any(own.tasks == topic_id for own in self.plan.streamlets)
            only = next(iter(contracts.values()), task_contract() if is_tasks else dead_letter_contract())
            written, read = contracts.get(OutletPlan, only), contracts.get(InletPlan, only)
            self._taps[topic_id] = TopicTap(self._topics[topic_id], written, read)
        return self._taps[topic_id]

    def sink(self, ref: str, query: str | None = None) -> SinkTap:
        """Return the rows that a streamlet has written to a sink; see `StreamletUnderTest.sink`.

        Arguments:
            ref: the streamlet's name in the blueprint.
            query: the name of the query; default: the only one.

        Raises:
            TestkitError: there is no streamlet with this name, or its output cannot be read.
        """
        return self.streamlet(ref).sink(query)

    def step(self, *, seconds: float | None = None) -> dict[str, Step]:
        """Step every streamlet once, producers before consumers, and return the steps by streamlet name.

        A batch source discovers once and reads all its tasks, as in a run with `--available-now`; its step is a
        `SourceStep`. Spouts are stepped by themselves; see `spout`.

        Arguments:
            seconds: the limit of each streamlet; default: the kit's.

        Raises:
            StreamletError: as for `StreamletUnderTest.step`.
            StepFailedError: as for `StreamletUnderTest.step`.
            TestkitError: a streamlet does not end its step in time.
            Exception: of the discovery of a batch source.
        """
        steps: dict[str, Step] = {}
        for own in self.plan.streamlets:
            if own.ref in self._sources:
                steps[own.ref] = self._sources[own.ref].run(seconds=seconds)
            elif own.ref in self._streamlets:
                steps[own.ref] = self._streamlets[own.ref].step(seconds=seconds)
        return steps

    def restart(self) -> None:
        """Restart all streamlets from their checkpoints, and generators from their resume markers."""
        units: tuple[StreamletUnderTest | SpoutUnderTest, ...] = (*self._streamlets.values(), *self._spouts.values())
        for unit in units:
            unit.restart()
        for source in self._sources.values():
            source.restart()

    def close(self) -> None:
        """Close the generators and batch sources, and call `on_stop` of logics; the kit does so at its end."""
        for streamlet in self._streamlets.values():
            streamlet.close()
        for spout in self._spouts.values():
            spout.restart()
        for source in self._sources.values():
            source.close()

    def _batch_source(self, create: Callable[[], BatchSource], plan: StreamletPlan) -> BatchSourceUnderTest:
        planned = {topic.id: topic for topic in self.plan.topics}
        assert plan.tasks is not None and plan.dead_letters is not None  # its kind has tasks
        tasks, letters = planned[plan.tasks], planned[plan.dead_letters]
        return BatchSourceUnderTest(create, plan, self._topics, tasks, letters, TestClock(), self._seconds)


def plan_application(blueprint: Path, conf: Sequence[Path | str], arguments: Sequence[str]) -> ApplicationPlan:
    """Verify a blueprint as `flow verify` does, and return its plan with all topics on the default channel.

    Arguments:
        blueprint: the file.
        conf: files with settings.
        arguments: settings in the form `key=value`, which override files.

    Raises:
        TestkitError: verification reports errors; the message has all of them.
    """
    from blueprint.verification.verify import verify
    from streamlets.project.catalog import ProjectCatalog

    verification = verify(
        blueprint,
        catalog=ProjectCatalog(writes=False),
        conf_files=conf,
        arguments=arguments,
        environment=os.environ,
        working_directory=Path.cwd(),
    )
    if verification.plan is None:
        raise error_with_findings(f"the blueprint {verification.blueprint} is invalid:", verification.diagnostics)
    topics = tuple(replace(topic, channel=DEFAULT, managed=True) for topic in verification.plan.topics)
    return replace(verification.plan, topics=topics)


def _on_spark(streamlet: Streamlet, plan: StreamletPlan) -> SparkStreamlet:
    if not isinstance(streamlet, SparkStreamlet):
        runs = "the testkit runs streamlets on Spark, batch sources and spouts"
        raise TestkitError(f"{runs}; `{plan.ref}` is of the kind `{plan.kind.name}`")
    return streamlet


def _unknown(noun: str, name: str, known: Mapping[str, object]) -> str:
    return f"there is no {noun} `{name}`; {suggestion(name, sorted(known))}"
