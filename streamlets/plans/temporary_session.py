"""`check_logic`: the `LogicCheck` of a command, in a temporary Spark session."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.logic import BuildableApplication, BuiltLogic
from streamlets.plans.built_streamlet import BuiltStreamlet
from streamlets.plans.logic_checker import LogicChecker, with_logic
from streamlets.plans.warm_up import warm_up
from streamlets.project.modules import project_at
from streamlets.spark.launch import start
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IGNORED = (
    *("spark.master", "spark.submit.", "spark.kubernetes.", "spark.yarn.", "spark.dynamicAllocation."),
    *("spark.driver.", "spark.executor.", "spark.local.dir", "spark.sql.warehouse.dir"),
    *("spark.ui.", "spark.eventLog."),
)
"""Settings that define where an application runs and its resources; a check runs locally with few resources."""
_SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Java options for a process of a few seconds, for which optimized compilation does not pay off."""


def check_logic(
    application: BuildableApplication, observe: Callable[[BuiltStreamlet], None] = lambda built: None
) -> BuiltLogic:
    """Start Spark, build the logic of all streamlets, and stop Spark; without streamlets, Spark is not started.

    Arguments:
        application: the streamlets.
        observe: takes each streamlet whose logic was built, while its session is the active one.

    Raises:
        SessionError: Spark cannot be started.
    """
    built, without = with_logic(application)
    if not built.streamlets:
        return BuiltLogic(without=without)
    with spark_for_checks(application) as checks:
        return LogicChecker(checks.spark.session, checks.directory, checks.restart, observe=observe)(application)


class SparkForChecks:
    """A local Spark with one core.

    Arguments:
        plan: its settings.
        directory: a directory for temporary files of the checks.

    Attributes:
        spark: the running Spark.
    """

    def __init__(self, plan: SessionPlan, directory: Path) -> None:
        self._plan = plan
        self.directory = directory
        self.spark = _start(plan)

    def restart(self) -> SparkSession:
        """Start Spark again, and return its session.

        Raises:
            SessionError: Spark cannot be started.
        """
        self.stop()
        self.spark = _start(self._plan)
        return self.spark.session

    def stop(self) -> None:
        """Stop Spark; another can be started in this process afterwards, as `flow run --plans` does."""
        self.spark.stop(patience=5.0)
        self.spark.forget()


@contextmanager
def spark_for_checks(application: BuildableApplication) -> Iterator[SparkForChecks]:
    """Provide a local Spark and a temporary directory; stop and delete them at the end.

    Raises:
        SessionError: Spark cannot be started.
    """
    directory = Path(tempfile.mkdtemp(prefix="streamlets-plans-"))
    project = project_at(application.directory)
    settings = {name: value for name, value in application.settings.spark.items() if not name.startswith(_IGNORED)}
    plan = SessionPlan(
        application.name,
        directory / "logs",
        directory,
        "local[1]",
        tuple(str(root) for root in project.roots),
        settings | {"spark.driver.extraJavaOptions": _SMALL_JVM, "spark.driver.memory": "1g"},
    )
    try:
        checks = SparkForChecks(plan, directory / "streamlets")
        try:
            yield checks
        finally:
            checks.stop()
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
