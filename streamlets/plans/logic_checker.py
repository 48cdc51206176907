"""`LogicChecker`: builds the logic of the streamlets one after the other, each in a child of one session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.comparison.descriptor import BuiltQuery
from blueprint.core_settings import Isolation
from blueprint.diagnostics import Diagnostic, finding
from blueprint.logic import Buildable, BuildableApplication, BuiltLogic
from blueprint.spelling import listing
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.plans.built_streamlet import BuiltStreamlet
from streamlets.plans.console_output import redirected_console_output
from streamlets.plans.places import Places
from streamlets.plans.signals import Signals
from streamlets.plans.streamlet_check import StreamletCheck
from streamlets.plans.watch import Watch
from streamlets.project.modules import Project, project_at
from streamlets.runner.drivers.groups import session_settings
from streamlets.spark.session import SessionError, active, answers, child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST_BUILD = 300.0
"""Seconds after which building a logic is abandoned. An idle machine takes less than one, and a first one a few."""

_FULL_PLANS = {"spark.sql.debug.maxToStringFields": "100000"}
"""Plans are parsed from the text that Spark prints, so it must not be truncated."""


def with_logic(application: BuildableApplication) -> tuple[BuildableApplication, int]:
    """Return the part of an application that has logic on Spark, and the number of the other streamlets."""
    built = tuple(streamlet for streamlet in application.streamlets if streamlet.plan.kind.on_spark)
    return replace(application, streamlets=built), len(application.streamlets) - len(built)


class LogicChecker:
    """A `LogicCheck`.

    Arguments:
        root: a session with the runner's settings; each streamlet gets a child session.
        directory: a directory for temporary files.
        restart: starts Spark again when a logic has ended it, and returns its session; without it, the streamlets after
            that one are not checked.
        longest_build: seconds after which building a logic is abandoned.
        observe: takes each streamlet whose logic was built, while its session is the active one.
    """

    def __init__(
        self,
        root: SparkSession,
        directory: Path,
        restart: Callable[[], SparkSession] | None = None,
        longest_build: float = LONGEST_BUILD,
        observe: Callable[[BuiltStreamlet], None] = lambda built: None,
    ) -> None:
        self._root = root
        self._directory = directory
        self._restart = restart
        self._signals = Signals()
        self._longest_build = longest_build
        self._observe = observe

    def __call__(self, application: BuildableApplication) -> BuiltLogic:
        """Return the findings of all streamlets, and their queries. Whatever one of them does, the others are checked.

        A finding that several streamlets have in common, such as two instances of one class, is reported once.
        """
        application, without = with_logic(application)
        project = project_at(application.directory)
        places = Places(project)
        watch = Watch(places)
        refs_by_finding: dict[Diagnostic, list[str]] = {}
        queries: dict[str, dict[str, BuiltQuery]] = {}
        for streamlet in application.streamlets:
            ref = streamlet.plan.ref
            with watch.watching(), redirected_console_output(), self._importing(project):
                diagnostics, built = self._check(streamlet, application.settings.isolation, project, watch, places)
            for diagnostic in diagnostics:
                refs_by_finding.setdefault(diagnostic, []).append(ref)
            if built is not None:
                queries[ref] = built
            if not answers(self._root):
                if self._restart is None:
                    break
                self._root = self._restart()
        findings = tuple(_with_refs(dict.fromkeys(refs), diagnostic) for diagnostic, refs in refs_by_finding.items())
        return BuiltLogic(findings, queries, without)

    @contextlib.contextmanager
    def _importing(self, project: Project) -> Iterator[None]:
        """Let Spark's Python workers import the project's modules."""
        environment = self._root.sparkContext.environment
        before = environment.get("PYTHONPATH")
        path = before or os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([*map(str, project.roots), *([path] if path else [])])
        try:
            yield
        finally:
            environment.pop("PYTHONPATH")
            if before is not None:
                environment["PYTHONPATH"] = before

    def _check(
        self, streamlet: Buildable, isolation: Isolation, project: Project, watch: Watch, places: Places
    ) -> tuple[tuple[Diagnostic, ...], dict[str, BuiltQuery] | None]:
        plan = streamlet.plan
        settings = session_settings(plan.settings.spark) if isolation == "process" else dict(plan.settings.spark)
        if not plan.settings.source_evolution:
            settings[SOURCE_EVOLUTION] = "false"
        try:
            session = child_session(self._root, settings | _FULL_PLANS)
        except SessionError as error:
            place = streamlet.spark_places.get(error.setting, streamlet.place)
            headline, *causes = str(error).splitlines()
            return (finding("spark-setting", headline, place, causes=causes, help=(error.help,)),), None
        check = StreamletCheck(
            streamlet, project, session, self._directory / plan.ref, watch, places, self._signals, self._longest_build
        )
        with active(session):
            findings = check.findings()
            if check.built is not None and answers(session):
                self._observe(check.built)
            return findings, check.queries


def _with_refs(refs: Iterable[str], diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, headline=f"{listing(refs)}: {diagnostic.headline}", streamlets=tuple(refs))
