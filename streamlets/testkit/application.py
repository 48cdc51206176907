"""A whole application under test: verified, put on topics of the test's own, stepped in topological order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.plan import ApplicationPlan, StreamletPlan
from blueprint.spelling import suggestion
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.registry import DEFAULT
from streamlets.project.loading import StreamletNotLoadedError, streamlet_of
from streamlets.project.modules import project_at
from streamlets.testkit.failures import TestkitError, refuse
from streamlets.testkit.outside_paths import Outside
from streamlets.testkit.stepping import Step
from streamlets.testkit.streamlet_under_test import StreamletUnderTest
from streamlets.testkit.taps import SinkTap, TopicTap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ApplicationUnderTest:
    """An application, stepped by hand.

    Attributes:
        plan: what it runs by.
    """

    def __init__(
        self,
        plan: ApplicationPlan,
        open_session: Callable[[StreamletPlan], SparkSession],
        topics: Mapping[str, TopicResource],
        channels: Mapping[str, Channel],
        checkpoints: Path,
        outside: Outside,
        real: Iterable[str] = (),
    ) -> None:
        """Put an application under test.

        Arguments:
            outside: where the world outside is; `real` names the streamlets that work on the real one.

        Raises:
            TestkitError: a class cannot be loaded, or there is no streamlet that `real` names.
        """
        self.plan = plan
        at_home = frozenset(real)
        for ref in sorted(at_home - {own.ref for own in plan.streamlets}):
            raise TestkitError(_no("streamlet", ref, {own.ref: own for own in plan.streamlets}))
        self._topics = topics
        self._taps: dict[str, TopicTap] = {}
        project = project_at(plan.folder)
        try:
            self._streamlets = {
                own.ref: StreamletUnderTest(
                    streamlet_of(own.class_name, project),
                    own,
                    open_session,
                    topics,
                    channels,
                    checkpoints,
                    None if own.ref in at_home else outside,
                    f"real=[{own.ref!r}]",
                )
                for own in plan.streamlets
            }
        except StreamletNotLoadedError as error:
            raise TestkitError(f"the application cannot be run: {error}") from None

    def streamlet(self, ref: str) -> StreamletUnderTest:
        """One of its streamlets, to feed, step and read alone.

        Raises:
            TestkitError: there is none of the name.
        """
        if ref not in self._streamlets:
            raise TestkitError(_no("streamlet", ref, self._streamlets))
        return self._streamlets[ref]

    def topic(self, topic_id: str) -> TopicTap:
        """One of its topics, to put records in and take records out.

        Records are of the first consumer's schema, or of the first producer's where there is no consumer.

        Raises:
            TestkitError: there is none of the name.
        """
        if topic_id not in self._topics:
            raise TestkitError(_no("topic", topic_id, self._topics))
        if topic_id not in self._taps:
            self._taps[topic_id] = TopicTap(self._topics[topic_id], self._contract(topic_id))
        return self._taps[topic_id]

    def sink(self, ref: str, query: str | None = None) -> SinkTap:
        """The rows that a streamlet has brought out of the application; see `StreamletUnderTest.sink`.

        Raises:
            TestkitError: there is no such streamlet, or what it has written cannot be read back.
        """
        return self.streamlet(ref).sink(query)

    def step(self) -> dict[str, Step]:
        """Step every streamlet once, producers before consumers; what each did, by its name.

        Raises:
            StreamletError, StepFailedError: as `StreamletUnderTest.step`.
        """
        return {ref: streamlet.step() for ref, streamlet in self._streamlets.items()}

    def restart(self) -> None:
        """Begin all streamlets anew from their checkpoints."""
        for streamlet in self._streamlets.values():
            streamlet.restart()

    def _contract(self, topic_id: str) -> Contract:
        readers = [port.contract for own in self.plan.streamlets for port in own.inlets if port.topic == topic_id]
        writers = [port.contract for own in self.plan.streamlets for port in own.outlets if port.topic == topic_id]
        return next(iter((*readers, *writers)), dead_letter_contract())


def plan_application(blueprint: Path, conf: Sequence[Path | str], arguments: Sequence[str]) -> ApplicationPlan:
    """Verify a blueprint by the code of `flow verify`; its topics become the test's own, whatever carries them else.

    Raises:
        TestkitError: there is an error; the message holds every one.
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
        raise refuse(f"{verification.blueprint} is not valid:", verification.diagnostics)
    topics = tuple(replace(topic, channel=DEFAULT, managed=True) for topic in verification.plan.topics)
    return replace(verification.plan, topics=topics)


def _no(what: str, name: str, known: Mapping[str, object]) -> str:
    return f"there is no {what} `{name}`; {suggestion(name, sorted(known))}"
