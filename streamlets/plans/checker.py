"""`LogicChecker`: builds the logic of one streamlet after the other, each in a child of one session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.buildable import Buildable, BuildableApplication
from blueprint.diagnostics import Diagnostic, finding
from blueprint.spelling import listing
from streamlets.plans.places import Places
from streamlets.plans.quiet import quiet
from streamlets.plans.streamlet_check import StreamletCheck
from streamlets.plans.watching import Watch
from streamlets.project import Project, project_at
from streamlets.runner.spark.session import SessionError, child_session
from streamlets.testkit.session import active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_WHOLE_PLANS = {"spark.sql.debug.maxToStringFields": "100000"}
"""Plans are read as Spark prints them, so nothing may be left out."""


class LogicChecker:
    """A `LogicCheck`.

    Arguments:
        root: a session with the runner's settings; each streamlet gets a child of it.
        folder: for temporary files.
    """

    def __init__(self, root: SparkSession, folder: Path) -> None:
        self._root = root
        self._folder = folder

    def __call__(self, application: BuildableApplication) -> tuple[Diagnostic, ...]:
        """The findings of all streamlets; what several have in common (one class, say) is told once."""
        project = project_at(application.folder)
        places = Places(project)
        watch = Watch(places)
        found: dict[Diagnostic, list[str]] = {}
        with watch.watching(), quiet(), self._importing(project):
            for streamlet in application.streamlets:
                for diagnostic in self._check(streamlet, project, watch, places):
                    found.setdefault(diagnostic, []).append(streamlet.plan.ref)
        return tuple(_of(dict.fromkeys(refs), diagnostic) for diagnostic, refs in found.items())

    @contextlib.contextmanager
    def _importing(self, project: Project) -> Iterator[None]:
        """Let Spark's Python workers import the project's modules."""
        environment = self._root.sparkContext.environment
        before = environment.get("PYTHONPATH")
        known = before or os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([*map(str, project.roots), *([known] if known else [])])
        try:
            yield
        finally:
            environment.pop("PYTHONPATH")
            if before is not None:
                environment["PYTHONPATH"] = before

    def _check(self, streamlet: Buildable, project: Project, watch: Watch, places: Places) -> Iterable[Diagnostic]:
        plan = streamlet.plan
        settings = dict(plan.spark) if plan.source_evolution else {**plan.spark, _EVOLUTION: "false"}
        try:
            session = child_session(self._root, settings | _WHOLE_PLANS)
        except SessionError as error:
            place = streamlet.spark_places.get(error.setting, streamlet.place)
            return (finding("spark-setting", str(error), place, help=(error.help,)),)
        with active(session):
            check = StreamletCheck(streamlet, project, session, self._folder / plan.ref, watch, places)
            return tuple(check.findings())


def _of(refs: Iterable[str], diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, headline=f"{listing(refs)}: {diagnostic.headline}")
