"""`check_logic`: the `LogicCheck` of a command, in a Spark of its own that is gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.logic import BuildableApplication, BuiltLogic
from streamlets.plans.checker import LogicChecker
from streamlets.plans.warming import warm_up
from streamlets.project.modules import project_at
from streamlets.spark.launch import start
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan

_OURS = (
    *("spark.master", "spark.submit.", "spark.kubernetes.", "spark.yarn.", "spark.dynamicAllocation."),
    *("spark.driver.", "spark.executor.", "spark.local.dir", "spark.sql.warehouse.dir"),
    *("spark.ui.", "spark.eventLog."),
)
"""Settings that say where and how large an application runs; a check runs here, quietly, and is small."""
_SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""A process of seconds: compiling its code well would take longer than it runs."""


def check_logic(application: BuildableApplication) -> BuiltLogic:
    """Start Spark, build the logic of all streamlets, and end Spark; without streamlets nothing is started.

    Raises:
        SessionError: Spark cannot be started.
    """
    if not application.streamlets:
        return BuiltLogic()
    with spark_for_checks(application) as (spark, folder):
        return LogicChecker(spark.session, folder)(application)


@contextmanager
def spark_for_checks(application: BuildableApplication) -> Iterator[tuple[Spark, Path]]:
    """A local Spark on one core, its files in a temporary folder; both are gone at the end.

    Raises:
        SessionError: Spark cannot be started.
    """
    folder = Path(tempfile.mkdtemp(prefix="streamlets-plans-"))
    settings = {name: value for name, value in application.spark.items() if not name.startswith(_OURS)}
    plan = SessionPlan(
        application.name,
        folder / "logs",
        folder,
        "local[1]",
        tuple(str(root) for root in project_at(application.folder).roots),
        settings | {"spark.driver.extraJavaOptions": _SMALL_JVM, "spark.driver.memory": "1g"},
    )
    try:
        spark = _start(plan)
        try:
            yield spark, folder / "streamlets"
        finally:
            spark.stop(patience=5.0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(plan: SessionPlan) -> Spark:
    try:
        return start(plan, lambda line: None, warm_up)
    except ModuleNotFoundError as error:
        raise SessionError(
            f"building the logic needs the package `{error.name}`", f"pip install {error.name}"
        ) from None
