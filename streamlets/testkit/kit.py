"""`Testkit`: runs streamlets and whole applications on topics in a folder of its own, step by step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.plan import StreamletPlan, TopicPlan
from streamlets.api.source_location import UNKNOWN, author_location
from streamlets.api.streamlet import SparkStreamlet
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.registry import CHANNEL_TYPES, DEFAULT
from streamlets.project.modules import project_at
from streamlets.spark.session import active
from streamlets.testkit.application import ApplicationUnderTest, plan_application
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.outside_paths import Outside
from streamlets.testkit.plan import plan_of
from streamlets.testkit.session import SETTINGS
from streamlets.testkit.streamlet_under_test import StreamletUnderTest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Testkit:
    """A place to run streamlets under test: what `flow run` does, on the same channel and real checkpoints.

        with Testkit(spark) as kit:
            app = kit.streamlet(MovingAverage, parameters={"window": "1 minute"})
            app.inlet("readings").put([{"src": "a", "ts": "2024-01-01T00:00:00", "value": 1.0}])
            app.step()
            rows = app.outlet("averages").take()

    Arguments:
        spark: a session; each streamlet gets a child of it. `streamlets.testkit.start_session()` starts one.
        folder: where topics and checkpoints lie, kept at the end; None means a temporary folder, removed at the end.
    """

    __test__ = False  # pytest takes classes called so for tests

    def __init__(self, spark: SparkSession, folder: Path | str | None = None) -> None:
        self._spark = spark
        self._keep = folder is not None
        self.folder = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="streamlets-testkit-"))
        self._used: set[str] = set()

    def __enter__(self) -> Testkit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary folder."""
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def streamlet(
        self,
        streamlet: SparkStreamlet | type[SparkStreamlet],
        *,
        ref: str = "streamlet-under-test",
        parameters: Mapping[str, object] | None = None,
        schemas: Mapping[str, str] | None = None,
        volume_mounts: Mapping[str, str | Path] | None = None,
        max_records: Mapping[str, int] | None = None,
        spark: Mapping[str, str] | None = None,
        real: bool = False,
    ) -> StreamletUnderTest:
        """A streamlet alone, each of its ports on a topic of its own; what else it writes goes to the kit's directory.

        Arguments:
            streamlet: a class or an instance.
            ref: its name; two of a kit need two names.
            parameters: values by key, as Python has them or as a blueprint would write them; checked as there.
            schemas: of ports whose class leaves them to the configuration, by port name.
            volume_mounts: folders by mount name.
            max_records: how many records of an inlet a batch reads, so that a step has several batches; what was put
                at once is a commit, which is never divided.
            spark: Spark settings of its session.
            real: whether it writes to its real sinks, mounts and paths.

        Raises:
            TestkitError: the streamlet, a schema or a value is not valid.
        """
        if ref in self._used:
            raise TestkitError(f"the kit has a streamlet `{ref}` already: give this one another `ref`")
        self._used.add(ref)
        own = streamlet() if isinstance(streamlet, type) else streamlet
        plan, topics = plan_of(
            own,
            ref=ref,
            place=author_location() or UNKNOWN,
            parameters=parameters or {},
            schemas=schemas or {},
            volume_mounts=volume_mounts or {},
            max_records=max_records or {},
            spark=spark or {},
        )
        home = self.folder / ref
        channels, resources = _resources(home, topics, [plan])
        outside = None if real else Outside(self.folder, home)
        return StreamletUnderTest(own, plan, self._session, resources, channels, home / "checkpoints", outside)

    def application(
        self,
        blueprint: Path | str,
        *,
        conf: Sequence[Path | str] = (),
        arguments: Sequence[str] = (),
        real: Iterable[str] = (),
    ) -> ApplicationUnderTest:
        """A whole application, verified as `flow verify` does. What it writes elsewhere than to topics is in the kit's
        directory: `app.sink("archive").take()`.

        Arguments:
            blueprint: its file; relative paths start from the working directory.
            conf: files of settings; arguments: `key=value` settings, which win.
            real: names of streamlets that write to their real sinks, mounts and paths.

        Raises:
            TestkitError: the blueprint or the settings are not valid, or there is no streamlet that `real` names.
        """
        plan = plan_application(Path(blueprint), conf, arguments)
        self._spark.sparkContext.environment["PYTHONPATH"] = _python_path(plan.folder)  # workers import its modules
        home = self.folder / plan.name
        channels, resources = _resources(home, plan.topics, plan.streamlets)
        return ApplicationUnderTest(
            plan, self._session, resources, channels, home / "checkpoints", Outside(self.folder, home), real
        )

    def _session(self, plan: StreamletPlan) -> SparkSession:
        session = self._spark.newSession()
        for key, value in (SETTINGS | dict(plan.spark)).items():
            session.conf.set(key, value)
        with active(session):
            CHANNEL_TYPES[DEFAULT].open(self.folder).prepare(session)
        return session


def _python_path(folder: str) -> str:
    roots = [str(root) for root in project_at(folder).roots]
    return os.pathsep.join(filter(None, (*roots, os.environ.get("PYTHONPATH"))))


def _resources(
    home: Path, topics: Iterable[TopicPlan], streamlets: Iterable[StreamletPlan]
) -> tuple[dict[str, Channel], dict[str, TopicResource]]:
    channel = CHANNEL_TYPES[DEFAULT].open(home / "topics")
    resources: dict[str, TopicResource] = {topic.id: channel.topic(topic) for topic in topics}
    writers: dict[str, list[Contract]] = {topic: [] for topic in resources}
    for plan in streamlets:
        for outlet in plan.outlets:
            writers[outlet.topic].append(outlet.contract)
    for topic, resource in resources.items():
        resource.create(writers[topic])
    return {channel.name: channel}, resources
