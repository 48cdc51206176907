"""`Testkit`: runs streamlets and applications step by step on topics in its own directory."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.avro.model import Contract
from blueprint.avro.tasks import task_contract
from blueprint.model.blueprint import task_topic
from blueprint.plan import StreamletPlan, TopicPlan
from streamlets.api.source_location import UNKNOWN, author_location
from streamlets.api.streamlet import SparkStreamlet
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.registry import CHANNEL_TYPES, DEFAULT
from streamlets.ingress.batch_sources.streamlet import BatchSource
from streamlets.ingress.spouts.streamlet import GeneratorSpout, Spout
from streamlets.project.modules import project_at
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.session import active
from streamlets.testkit.application import ApplicationUnderTest, plan_application
from streamlets.testkit.batch_source_under_test import BatchSourceUnderTest
from streamlets.testkit.clock import TestClock
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.outside_paths import OutsidePaths
from streamlets.testkit.plan import DEAD_LETTERS, plan_of, topic_plan
from streamlets.testkit.session import SETTINGS
from streamlets.testkit.spout_under_test import SpoutUnderTest
from streamlets.testkit.step import STEP_SECONDS
from streamlets.testkit.streamlet_under_test import StreamletUnderTest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Testkit:
    """Runs streamlets under test as `flow run` does, with the same channel and real checkpoints.

        with Testkit(spark) as kit:
            app = kit.streamlet(MovingAverage, parameters={"window": "1 minute"})
            app.inlet("readings").put([{"src": "a", "ts": "2024-01-01T00:00:00", "value": 1.0}])
            app.step()
            rows = app.outlet("averages").take()

    Arguments:
        spark: a session; each streamlet gets a child session. `streamlets.testkit.start_session()` starts a session.
            None for spouts and batch sources, which need none.
        directory: the directory for topics and checkpoints, which is kept; default: a temporary directory, which is
            deleted at the end.
        step_seconds: the limit of a step of a streamlet, unless `step` has one.
    """

    __test__ = False  # pytest collects classes with this prefix

    def __init__(
        self,
        spark: SparkSession | None = None,
        directory: Path | str | None = None,
        *,
        step_seconds: float = STEP_SECONDS,
    ) -> None:
        self._spark = spark
        self._seconds = step_seconds
        self._keep = directory is not None
        self.directory = (
            Path(directory) if directory is not None else Path(tempfile.mkdtemp(prefix="streamlets-testkit-"))
        )
        self._used: set[str] = set()
        self._at_end: list[Callable[[], None]] = []

    def __enter__(self) -> Testkit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the batch sources and generators, call `on_stop` of logics, and delete the temporary directory."""
        while self._at_end:
            self._at_end.pop()()
        if not self._keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def streamlet(
        self,
        streamlet: SparkStreamlet | type[SparkStreamlet],
        *,
        ref: str = "streamlet-under-test",
        parameters: Mapping[str, object] | None = None,
        inlets: Mapping[str, str] | None = None,
        outlets: Mapping[str, str] | None = None,
        schemas: Mapping[str, str] | None = None,
        volume_mounts: Mapping[str, str | Path] | None = None,
        max_records: Mapping[str, int] | None = None,
        spark: Mapping[str, str] | None = None,
        real: bool = False,
    ) -> StreamletUnderTest:
        """Return a streamlet under test, with a topic for each port; its other output goes to the kit's directory.

        Arguments:
            streamlet: a class or an instance.
            ref: its name, which must be unique in the kit.
            parameters: values by key, as Python values or in the notation of a blueprint; they are checked as in a
                blueprint.
            inlets: schemas by name of the inlets of a class whose ports the blueprint names, such as `streamlets.Sql`.
            outlets: schemas by name of its outlets.
            schemas: schemas by port name, for ports whose class does not have one.
            volume_mounts: directories by mount name.
            max_records: the maximum number of records per batch by inlet name, so that a step has several batches.
                The records of one `put` are one commit, which is never split.
            spark: Spark settings of its session.
            real: whether it writes to its real sinks, mounts and paths.

        Raises:
            TestkitError: the streamlet, a schema or a value is invalid.
        """
        self._take(ref)
        own = streamlet() if isinstance(streamlet, type) else streamlet
        if both := set(inlets or {}) & set(outlets or {}):
            raise TestkitError(f"`{min(both)}` is both an inlet and an outlet: give them different names")
        own.declare_ports(tuple(inlets or {}), tuple(outlets or {}))
        plan, topics = plan_of(
            own,
            ref=ref,
            place=author_location() or UNKNOWN,
            parameters=parameters or {},
            schemas={**(schemas or {}), **(inlets or {}), **(outlets or {})},
            volume_mounts=volume_mounts or {},
            max_records=max_records or {},
            spark=spark or {},
        )
        home = self.directory / ref
        channels, resources = _resources(home, topics, [plan])
        outside = None if real else OutsidePaths(self.directory, home)
        under_test = StreamletUnderTest(
            own, plan, self._session, resources, channels, home / "checkpoints", outside, seconds=self._seconds
        )
        self._at_end.append(under_test.close)
        return under_test

    def spout(
        self,
        spout: Spout | GeneratorSpout | type[Spout] | type[GeneratorSpout],
        *,
        ref: str = "spout-under-test",
        parameters: Mapping[str, object] | None = None,
        schemas: Mapping[str, str] | None = None,
    ) -> SpoutUnderTest:
        """Return a spout under test, with a topic for each outlet. It needs no Spark.

        Arguments:
            spout: a class or an instance.
            ref: its name, which must be unique in the kit.
            parameters: values by key, as for `streamlet`. A `Spout` needs `cmd`, also if a test delivers in its place.
            schemas: schemas by outlet name, for outlets whose class does not have one.

        Raises:
            TestkitError: the spout, a schema or a value is invalid.
        """
        self._take(ref)
        own = spout() if isinstance(spout, type) else spout
        own.declare_ports((), tuple(schemas or {}))
        plan, topics = plan_of(
            own, ref=ref, place=author_location() or UNKNOWN, parameters=parameters or {}, schemas=schemas or {},
            volume_mounts={}, max_records={}, spark={},
        )  # fmt: skip
        state = StateDirectory(self.directory, ref)
        _, resources = _resources(state.directory, topics, [plan])
        under_test = SpoutUnderTest(own, plan, topics, resources, state)
        self._at_end.append(under_test.restart)
        return under_test

    def batch_source(
        self,
        source: BatchSource | type[BatchSource],
        *,
        ref: str = "source-under-test",
        parameters: Mapping[str, object] | None = None,
        schemas: Mapping[str, str] | None = None,
        volume_mounts: Mapping[str, str | Path] | None = None,
        clock: TestClock | None = None,
    ) -> BatchSourceUnderTest:
        """Return a batch source under test. It needs no Spark.

        Arguments:
            source: a class or an instance.
            ref: its name, which must be unique in the kit.
            parameters: values by key, as for `streamlet`; default of `discovery`: the triggerer `immediate`,
                if the source has none of its own.
            schemas: the schema of the outlet by its name, for `streamlets.Source` and other classes without one.
            volume_mounts: directories by mount name.
            clock: the wall clock of the triggerer, of which the test advances it.

        Raises:
            TestkitError: the source, a schema or a value is invalid.
        """
        self._take(ref)
        own = source() if isinstance(source, type) else source
        default = {"discovery": {"triggerer": "immediate"}} if own.discovery.default is None else {}
        plan, planned = plan_of(
            own, ref=ref, place=author_location() or UNKNOWN, parameters=default | dict(parameters or {}),
            schemas=schemas or {},
            volume_mounts=volume_mounts or {}, max_records={}, spark={},
        )  # fmt: skip
        topics = {topic.id: topic for topic in planned}
        tasks, letters = topic_plan(task_topic(ref)), topics.get(DEAD_LETTERS) or topic_plan(DEAD_LETTERS)
        home = self.directory / ref
        _, resources = _resources(home, (topics | {tasks.id: tasks, letters.id: letters}).values(), [plan])
        for topic, contract in ((tasks, task_contract()), (letters, dead_letter_contract())):
            resources[topic.id].create([contract])
        under_test = BatchSourceUnderTest(
            type(own), plan, resources, tasks, letters, clock or TestClock(), self._seconds
        )
        self._at_end.append(under_test.close)
        return under_test

    def application(
        self,
        blueprint: Path | str,
        *,
        conf: Sequence[Path | str] = (),
        arguments: Sequence[str] = (),
        real: Iterable[str] = (),
    ) -> ApplicationUnderTest:
        """Return an application under test, verified as `flow verify` does.

        Its output outside of topics goes to the kit's directory: `app.sink("archive").take()`.

        Arguments:
            blueprint: the file; a relative path starts in the working directory.
            conf: files with settings, such as `flow run --conf` takes; later ones override earlier ones. A relative
                path starts in the working directory.
            arguments: settings in the form `key=value`, which override files.
            real: the names of streamlets that write to their real sinks, mounts and paths.

        Raises:
            TestkitError: the blueprint or the settings are invalid, or `real` has an unknown name.
        """
        plan = plan_application(Path(blueprint), conf, arguments)
        if self._spark is not None:  # Spark's workers import its modules
            self._spark.sparkContext.environment["PYTHONPATH"] = _python_path(plan.directory)
        home = self.directory / plan.name
        channels, resources = _resources(home, plan.topics, plan.streamlets)
        app = ApplicationUnderTest(
            plan, self._session, resources, channels, OutsidePaths(self.directory, home), real,
            state=StateDirectory(self.directory, plan.name), seconds=self._seconds,
        )  # fmt: skip
        self._at_end.append(app.close)
        return app

    def _take(self, ref: str) -> None:
        """Take a name for what is put under test.

        Raises:
            TestkitError: the kit has something with this name.
        """
        if ref in self._used:
            raise TestkitError(f"duplicate streamlet name `{ref}` in the kit: pass another `ref`")
        self._used.add(ref)

    def _required_spark(self) -> SparkSession:
        if self._spark is None:
            raise TestkitError("this kit has no Spark session: create it with `Testkit(spark)`")
        return self._spark

    def _session(self, plan: StreamletPlan) -> SparkSession:
        session = self._required_spark().newSession()
        for key, value in (SETTINGS | dict(plan.settings.spark)).items():
            session.conf.set(key, value)
        with active(session):
            CHANNEL_TYPES[DEFAULT].open(self.directory).prepare(session)
        return session


def _python_path(directory: str) -> str:
    roots = [str(root) for root in project_at(directory).roots]
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
        if plan.tasks is not None:
            writers[plan.tasks].append(task_contract())
    for topic, resource in resources.items():
        resource.create(writers[topic])
    return {channel.name: channel}, resources
