"""`Driver`: a Spark in this process, and the streamlets on it as units."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from blueprint.core_settings import ClusterSettings
from blueprint.fusion import fusion_of
from blueprint.plan import ApplicationPlan
from streamlets.api.hooks import StopCause
from streamlets.artifacts.connectors import jars_of
from streamlets.artifacts.maven import ArtifactError
from streamlets.checks import State
from streamlets.cluster.starting import Start, question_of, require_no_errors
from streamlets.project.modules import project_at
from streamlets.runner.checkpoints.state_rows import Holder, rows_in_state
from streamlets.runner.drivers.executor_watch import watch_executors
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.run_events import SparkStarting, SparkUp
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.hosts import HostContext
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Lost, Seen, Unit
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.topics import channels_of, connectors_of
from streamlets.runner.units.fused_chain import FusedChain, HeadSite
from streamlets.runner.units.fused_unit import FusableUnit
from streamlets.runner.units.site import Site, SiteContext
from streamlets.runner.units.spark_keeper import SparkKeeper
from streamlets.runner.units.units import QueryUnit, StreamletUnit
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan

# The number of concurrent builds and starts; more would only queue up in the JVM.
_WORKERS = 4
_JARS = "spark.jars"


class Driver:
    """The streamlets of a plan on a Spark of this process, which the constructor starts. No streamlet is started.

    Arguments:
        context: its plan has the streamlets of this driver.
        session: the settings of Spark.
        started: takes the id of Spark's Java process, each time one is started.

    Raises:
        SessionError: Spark cannot be started.
    """

    def __init__(
        self, context: HostContext, session: SessionPlan, *, started: Callable[[int], None] = lambda java: None
    ) -> None:
        self._context, self._workers = context, Workers(_WORKERS)
        plan, report = context.plan, context.report
        starts = itertools.count()
        question = question_of(plan, (context.state.directory.absolute(),), session)
        beginning = Start(session, context.print_line, context.secrets.masked, question)

        def start() -> Spark:
            if next(starts):  # the run itself reports the first start
                report(Seen(SparkStarting(time.time(), context.refs)))
            spark, checks = beginning.begin()
            started(spark.process.pid)
            try:
                require_no_errors(checks)
            except SessionError:
                spark.stop()
                raise
            for check in checks:
                if check.state is State.WARNING:
                    report(
                        Seen(
                            UnitWarned(time.time(), UnitId(plan.name), f"{check.subject}: {check.detail}; {check.help}")
                        )
                    )
            report(Seen(SparkUp(time.time(), context.refs)))
            return spark

        project = project_at(plan.directory)
        packages = frozenset(streamlet.class_name.partition(".")[0] for streamlet in plan.streamlets)
        self._spark = SparkKeeper(
            start,
            lambda failure: report(Lost(failure, StreamletUnit.host)),
            session.jvm_log,
            renew=lambda: project.forget_modules(packages),
            observe=lambda spark, end: watch_executors(spark, context, end, session.cluster.executor_patience.seconds),
        )
        channels = channels_of(plan, context.state)
        shared = SiteContext(
            application=plan.name,
            directory=plan.directory,
            spark=self._spark,
            topics={topic.id: channels[topic.channel].topic(topic) for topic in plan.topics},
            channels=channels,
            checkpoints=context.state.checkpoints,
            listener=QueryListener(),
            bounded=context.bounded,
            report=report,
            log=context.log,
            print_line=context.print_line,
            spark_settings=plan.settings.spark,
        )
        streamlets = {streamlet.ref: streamlet for streamlet in plan.streamlets}
        chains = [FusedChain(topics, streamlets, shared) for topics in fusion_of(plan).chains]
        heads = {chain.refs[0]: HeadSite(streamlets[chain.refs[0]], shared, chain) for chain in chains}
        self._fused_into = {ref: head for head in heads.values() for ref in head.chain.refs[1:]}
        self._sites = {ref: heads.get(ref) or Site(streamlet, shared) for ref, streamlet in streamlets.items()}
        self._units = tuple(self._unit(site) for site in self._sites.values())

    @property
    def units(self) -> tuple[Unit, ...]:
        """A unit for each streamlet, producers first."""
        return self._units

    def _unit(self, site: Site) -> StreamletUnit:
        """Return the unit of a streamlet, which may be fused into the query of another one."""
        id, retry = UnitId(site.plan.ref), site.plan.settings.retry
        report, log = self._context.report, self._context.log
        head = self._fused_into.get(id.streamlet)
        if head is not None:
            return FusableUnit(id, site, retry, self._workers, report, log, head)
        return StreamletUnit(id, site, retry, self._workers, report, log)

    def query(self, unit: UnitId) -> QueryUnit:
        """Return the unit of a query that an earlier process of this driver had built."""
        site = self._sites[unit.streamlet]
        return QueryUnit(unit, site, site.plan.settings.retry, self._workers, self._context.report, self._context.log)

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterator[RowsInState]:
        """Yield the rows that remain in the state of units, see `Host.rows_in_state`; nothing if Spark has exited."""
        if not self._spark.alive:
            return
        holders = {
            unit: Holder(self._sites[unit.streamlet].output_modes.get(unit.part, ""), count)
            for unit, count in rows.items()
            if unit.streamlet in self._sites
        }
        yield from rows_in_state(self._spark.spark().session, holders, self._context.state.checkpoints, time.time)

    def stop(self) -> None:
        """Call the `on_stop` of each streamlet whose queries were not all started, then stop Spark."""
        for site in self._sites.values():
            site.logic.close(StopCause("stopped"))
        self._spark.stop()


def session_plan(plan: ApplicationPlan, state: StateDirectory, master: str | None) -> SessionPlan:
    """Return the settings of the Spark of an application.

    Arguments:
        master: Spark's master; None for the one of the settings, or this machine.

    Raises:
        SessionError: the jars for Spark cannot be had.
    """
    directory = Path(plan.directory).absolute()
    jars = [jar for jar in (plan.settings.spark.get(_JARS, ""), *map(str, connector_jars(plan))) if jar]
    return SessionPlan(
        application=plan.name,
        logs=state.logs.absolute(),
        scratch=state.scratch.absolute(),
        master=master or plan.settings.cluster.master,
        python_path=tuple(dict.fromkeys((str(directory), str(directory / "src"), *_inherited_path()))),
        settings={**plan.settings.spark, _JARS: ",".join(jars)} if jars else plan.settings.spark,
        cluster=_with_absolute_paths(plan.settings.cluster, directory),
    )


def _inherited_path() -> list[str]:
    """Return the directories of `PYTHONPATH`, which executors of a cluster do not inherit."""
    return [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _with_absolute_paths(cluster: ClusterSettings, directory: Path) -> ClusterSettings:
    """Return the settings of the cluster with paths that do not depend on the working directory."""
    file, environment = cluster.secret.file, cluster.environment
    return replace(
        cluster,
        secret=replace(cluster.secret, file=str(directory / file) if file else None),
        environment=str(directory / environment) if environment else None,
    )


def connector_jars(plan: ApplicationPlan) -> tuple[Path, ...]:
    """Return the jars that Spark needs for the channels and sinks of an application; missing ones are fetched.

    Raises:
        SessionError: they cannot be had.
    """
    try:
        return jars_of(connectors_of(plan), plan.artifacts)
    except ArtifactError as error:
        raise SessionError(str(error), error.help) from None
