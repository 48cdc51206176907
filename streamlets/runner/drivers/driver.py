"""`Driver`: a Spark in this process, and the streamlets on it as units."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from blueprint.plan import ApplicationPlan
from streamlets.artifacts.connectors import jars_of
from streamlets.artifacts.maven import ArtifactError
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.project.modules import project_at
from streamlets.runner.checkpoints.state_rows import Holder, held_rows
from streamlets.runner.events.model import CheckpointRepaired, SparkStarting, SparkUp, UnitHeld, UnitId
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Lost, Seen, Unit
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.topics import channels_of
from streamlets.runner.units.host import SparkHost
from streamlets.runner.units.site import Site
from streamlets.runner.units.units import Log, QueryUnit, StreamletUnit
from streamlets.spark import launch
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan

# The number of concurrent builds and starts; more would only queue up in the JVM.
_WORKERS = 4
_JARS = "spark.jars"


class Driver:
    """The streamlets of a plan on a Spark of this process, which the constructor starts. No streamlet is started.

    Arguments:
        plan: the application with the streamlets of this driver; its topics exist.
        session: the settings of Spark.
        bounded: whether all queries process all available data and end.
        report: takes the units' facts, from any thread.
        log: takes the full text of each failure, from any thread.
        print_line: takes each line that Spark prints or a sink shows, from any thread.
        started: takes the id of Spark's Java process, each time one is started.

    Raises:
        SessionError: Spark cannot be started.
    """

    def __init__(
        self,
        plan: ApplicationPlan,
        state: StateDirectory,
        session: SessionPlan,
        *,
        bounded: bool,
        report: Callable[[Fact], None],
        log: Log,
        print_line: Callable[[str], None],
        started: Callable[[int], None] = lambda java: None,
    ) -> None:
        refs = tuple(streamlet.ref for streamlet in plan.streamlets)
        self._checkpoints = state.checkpoints
        self._report, self._log, self._workers = report, log, Workers(_WORKERS)

        starts = itertools.count()

        def start() -> Spark:
            if next(starts):  # the run itself reports the first start
                report(Seen(SparkStarting(time.time(), refs)))
            spark = launch.start(session, print_line)
            started(spark.process.pid)
            report(Seen(SparkUp(time.time(), refs)))
            return spark

        project = project_at(plan.directory)
        packages = frozenset(streamlet.class_name.partition(".")[0] for streamlet in plan.streamlets)
        self._host = SparkHost(
            start,
            lambda failure: report(Lost(failure, frozenset(refs))),
            session.jvm_log,
            renew=lambda: project.forget_modules(packages),
        )
        channels = channels_of(plan, state)
        topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
        listener = QueryListener()
        self._sites = {
            streamlet.ref: Site(
                plan.name,
                plan.directory,
                streamlet,
                host=self._host,
                topics=topics,
                channels=channels,
                checkpoints=state.checkpoints,
                listener=listener,
                bounded=bounded,
                report_repair=_repair_reporter(streamlet.ref, report),
                print_line=print_line,
            )
            for streamlet in plan.streamlets
        }

        self._units = tuple(
            StreamletUnit(UnitId(ref, ""), site, site.plan.retry, self._workers, report, log)
            for ref, site in self._sites.items()
        )

    @property
    def units(self) -> tuple[Unit, ...]:
        """A unit for each streamlet, producers first."""
        return self._units

    def query(self, unit: UnitId) -> QueryUnit:
        """Return the unit of a query that an earlier process of this driver had built."""
        site = self._sites[unit.streamlet]
        return QueryUnit(unit, site, site.plan.retry, self._workers, self._report, self._log)

    def held(self, rows: Mapping[UnitId, int | None]) -> Iterator[UnitHeld]:
        """Yield the rows that remain in the state of units; nothing if Spark has exited.

        Arguments:
            rows: for each unit, the number of rows in state after its last batch; None if unknown.
        """
        if not self._host.alive:
            return
        holders = {
            unit: Holder(self._sites[unit.streamlet].output_modes.get(unit.part, ""), count)
            for unit, count in rows.items()
        }
        yield from held_rows(self._host.spark().session, holders, self._checkpoints, time.time)

    def stop(self) -> None:
        """Stop Spark."""
        self._host.stop()


def session_plan(plan: ApplicationPlan, state: StateDirectory, master: str | None) -> SessionPlan:
    """Return the settings of the Spark of an application.

    Arguments:
        master: Spark's master; None for this machine.

    Raises:
        SessionError: the jars for Spark cannot be had.
    """
    directory = Path(plan.directory).absolute()
    jars = [jar for jar in (plan.spark.get(_JARS, ""), *map(str, connector_jars(plan))) if jar]
    return SessionPlan(
        application=plan.name,
        logs=state.logs.absolute(),
        scratch=state.scratch.absolute(),
        master=master,
        python_path=(str(directory), str(directory / "src")),
        settings={**plan.spark, _JARS: ",".join(jars)} if jars else plan.spark,
    )


def connector_jars(plan: ApplicationPlan) -> tuple[Path, ...]:
    """Return the jars that Spark needs for the channels of an application; those that are missing are fetched.

    Raises:
        SessionError: they cannot be had.
    """
    traits = [CHANNEL_TYPES[name].traits for name in sorted({topic.channel for topic in plan.topics})]
    try:
        return jars_of((each.connector for each in traits if each.connector is not None), plan.artifacts)
    except ArtifactError as error:
        raise SessionError(str(error), error.help) from None


def _repair_reporter(ref: str, report: Callable[[Fact], None]) -> Callable[[str, str], None]:
    return lambda query, what: report(Seen(CheckpointRepaired(time.time(), UnitId(ref, query), what)))
