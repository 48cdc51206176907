"""`check_logic`: the `LogicCheck` of a command, in a temporary Spark session."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.logic import BuildableApplication, BuiltLogic
from streamlets.plans.logic_checker import LogicChecker
from streamlets.plans.warm_up import warm_up
from streamlets.project.modules import project_at
from streamlets.spark.launch import start
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan

_IGNORED = (
    *("spark.master", "spark.submit.", "spark.kubernetes.", "spark.yarn.", "spark.dynamicAllocation."),
    *("spark.driver.", "spark.executor.", "spark.local.dir", "spark.sql.warehouse.dir"),
    *("spark.ui.", "spark.eventLog."),
)
"""Settings that define where an application runs and its resources; a check runs locally with few resources."""
_SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Java options for a process of a few seconds, for which optimized compilation does not pay off."""


def check_logic(application: BuildableApplication) -> BuiltLogic:
    """Start Spark, build the logic of all streamlets, and stop Spark; without streamlets, Spark is not started.

    Raises:
        SessionError: Spark cannot be started.
    """
    if not application.streamlets:
        return BuiltLogic()
    with spark_for_checks(application) as (spark, directory):
        return LogicChecker(spark.session, directory)(application)


@contextmanager
def spark_for_checks(application: BuildableApplication) -> Iterator[tuple[Spark, Path]]:
    """Provide a local Spark session with one core and a temporary directory; stop and delete them at the end.

    Raises:
        SessionError: Spark cannot be started.
    """
    directory = Path(tempfile.mkdtemp(prefix="streamlets-plans-"))
    project = project_at(application.directory)
    settings = {name: value for name, value in application.spark.items() if not name.startswith(_IGNORED)}
    plan = SessionPlan(
        application.name,
        directory / "logs",
        directory,
        "local[1]",
        tuple(str(root) for root in project.roots),
        settings | {"spark.driver.extraJavaOptions": _SMALL_JVM, "spark.driver.memory": "1g"},
    )
    try:
        spark = _start(plan)
        try:
            yield spark, directory / "streamlets"
        finally:
            # `flow run --plans` starts another Spark in this process.
            spark.stop(patience=5.0)
            spark.forget()
            project.forget_modules(streamlet.plan.class_name.partition(".")[0] for streamlet in application.streamlets)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _start(plan: SessionPlan) -> Spark:
    try:
        return start(plan, lambda line: None, warm_up)
    except ModuleNotFoundError as error:
        raise SessionError(
            f"building the logic requires the package `{error.name}`", f"pip install {error.name}"
        ) from None
