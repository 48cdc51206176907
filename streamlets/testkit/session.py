"""A Spark session for tests and notebooks, with the settings of the runner."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.planned.jar import planned_class_path, with_planned_jar
from streamlets.spark.callback_server import open_callback_server
from streamlets.spark.class_archive import archive_options
from streamlets.spark.launch_files import quoted_path
from streamlets.spark.settings import SessionPlan, defaults
from streamlets.spark.spark_home import without_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    SOURCE_EVOLUTION: "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of each streamlet's session, which do not depend on how Spark was started. One shuffle partition starts
fewer tasks, and rows after a shuffle have a fixed order."""


def start_session(
    master: str = "local[2]", *, settings: Mapping[str, str] | None = None, directory: Path | str | None = None
) -> SparkSession:
    """Start Spark for tests or a notebook, or return the existing session.

    Arguments:
        master: Spark's master.
        settings: Spark settings that override the runner's.
        directory: a directory for temporary files; default: a temporary directory of the system.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path and Path(path).is_dir()))
    from pyspark.sql import SparkSession

    scratch = Path(directory) if directory is not None else Path(tempfile.mkdtemp(prefix="streamlets-spark-"))
    log4j = scratch / "log4j2.properties"
    log4j.parent.mkdir(parents=True, exist_ok=True)
    log4j.write_text(_LOG, encoding="utf-8")
    plan = SessionPlan("testkit", scratch / "logs", scratch, master, settings=settings or {})
    with without_zip(scratch) if master.startswith("local") else nullcontext() as home, planned_class_path():
        options = (*archive_options(home), f"-Dlog4j2.configurationFile=file:{log4j.absolute()}")
        java_options = " ".join((_QUICK_JAVA, *map(quoted_path, options)))
        quick = _QUICK | {"spark.driver.extraJavaOptions": java_options}
        builder = SparkSession.builder
        all_settings = defaults(plan, 2, 4 * 1024**3) | quick | dict(settings or {})
        for key, value in with_planned_jar(all_settings).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    gateway = session.sparkContext._gateway  # noqa: SLF001 - there is no public way
    open_callback_server(gateway, lambda line: print(line, file=sys.stderr))  # noqa: T201
    session.sparkContext.setLogLevel("ERROR")
    return session


_LOG = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""The properties of log4j2. Warnings of Spark's start would be shown with the first test that fails. Without a level of
the gateway, Spark prints how to change the level of the others."""

_QUICK = {
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.shuffle.partitions": "2",
}
_QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Java's second compiler pays off after minutes only; without it short queries take a third less CPU time."""
