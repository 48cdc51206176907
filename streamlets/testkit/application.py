"""An application under test: it is verified, gets topics of the test, and is stepped in topological order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.plan import ApplicationPlan, StreamletPlan
from blueprint.spelling import suggestion
from streamlets.api.streamlet import SparkStreamlet, Streamlet
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.registry import DEFAULT
from streamlets.ingress.spouts.streamlet import GeneratorSpout, Spout
from streamlets.project.loading import StreamletNotLoadedError, streamlet_of
from streamlets.project.modules import project_at
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.testkit.failures import TestkitError, error_with_findings
from streamlets.testkit.outside_paths import OutsidePaths
from streamlets.testkit.spout_under_test import SpoutUnderTest
from streamlets.testkit.step import Step
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
        checkpoints: Path,
        outside: OutsidePaths,
        real: Iterable[str] = (),
        *,
        state: StateDirectory,
    ) -> None:
        """Create the streamlets of an application.

        Arguments:
            plan: the verified plan.
            open_session: opens the Spark session of a streamlet.
            topics: topics by id.
            channels: channels by name.
            checkpoints: the directory of checkpoints.
            outside: moves paths outside of the kit into it.
            real: the names of streamlets that write to their real paths.
            state: the state directory of its spouts.

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
        project = project_at(plan.directory)
        for own in plan.streamlets:
            try:
                streamlet = streamlet_of(own, project)
            except StreamletNotLoadedError as error:
                raise TestkitError(f"the application cannot run: {error}") from None
            if isinstance(streamlet, Spout | GeneratorSpout):
                self._spouts[own.ref] = SpoutUnderTest(streamlet, own, plan.topics, topics, state)
                continue
            self._streamlets[own.ref] = StreamletUnderTest(
                _on_spark(streamlet, own),
                own,
                open_session,
                topics,
                channels,
                checkpoints,
                None if own.ref in real_refs else outside,
                f"real=[{own.ref!r}]",
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

    def topic(self, topic_id: str) -> TopicTap:
        """Return a topic of the application, to write and read records.

        Records have the schema of the first consumer or, without consumers, of the first producer.

        Arguments:
            topic_id: the key of the topic in the blueprint.

        Raises:
            TestkitError: there is no topic with this id.
        """
        if topic_id not in self._topics:
            raise TestkitError(_unknown("topic", topic_id, self._topics))
        if topic_id not in self._taps:
            self._taps[topic_id] = TopicTap(self._topics[topic_id], self._contract(topic_id))
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

    def step(self) -> dict[str, Step]:
        """Step every streamlet on Spark once, producers before consumers, and return the steps by streamlet name.
        Spouts are stepped by themselves; see `spout`.

        Raises:
            StreamletError: as for `StreamletUnderTest.step`.
            StepFailedError: as for `StreamletUnderTest.step`.
        """
        return {ref: streamlet.step() for ref, streamlet in self._streamlets.items()}

    def restart(self) -> None:
        """Restart all streamlets from their checkpoints, and generators from their resume markers."""
        units: tuple[StreamletUnderTest | SpoutUnderTest, ...] = (*self._streamlets.values(), *self._spouts.values())
        for unit in units:
            unit.restart()

    def _contract(self, topic_id: str) -> Contract:
        readers = [port.contract for own in self.plan.streamlets for port in own.inlets if port.topic == topic_id]
        writers = [port.contract for own in self.plan.streamlets for port in own.outlets if port.topic == topic_id]
        return next(iter((*readers, *writers)), dead_letter_contract())


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
        runs = "the testkit runs streamlets on Spark and spouts"
        raise TestkitError(f"{runs}; `{plan.ref}` is of the kind `{plan.kind}`")
    return streamlet


def _unknown(noun: str, name: str, known: Mapping[str, object]) -> str:
    return f"there is no {noun} `{name}`; {suggestion(name, sorted(known))}"
