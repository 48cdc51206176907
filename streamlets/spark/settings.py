"""The settings of the Spark of a run: the defaults, which the user's settings override, and the log files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.core_settings import ClusterSettings
from blueprint.masters import MASTERS, Master, default_of, master_of
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.spark.cluster_settings import LOOPBACK, cluster_settings
from streamlets.spark.session import SessionError

# How often an idle query polls its sources. Spark's default of 10 ms costs 0.13 cores for 4 queries, 500 ms 0.02.
_POLLING_DELAY = "250ms"
# Spark's default is to wait for ever: a batch that cannot be interrupted would block the runner.
_STOP_TIMEOUT = "30s"
# How long the Python side of a worker waits for the JVM. 15 s are not enough on a loaded machine with many workers.
# (The JVM's side waits 10 s for a source's process and 60 s for a worker, which no setting changes.)
_WORKER_TIMEOUT = "120s"
_GIB = 1024**3
_IN_ONE_PROCESS = re.compile(r"local(\[|$)")
_MASTER = "spark.master"


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """The settings of the Spark of a run.

    Arguments:
        application: the name of the application in Spark.
        logs: the directory of Spark's log files (`spark.log`, and `jvm.log` for what is not logged by log4j).
        scratch: a directory for Spark's temporary files, which its owner empties.
        master: Spark's master; None for all cores of this machine, with four attempts per task.
        python_path: the directories that drivers and workers import modules from.
        settings: the Spark settings of the application, which override the defaults.
        sparks: how many Sparks share the memory of this machine.
        cluster: the settings of the cluster; paths are absolute.
    """

    application: str
    logs: Path
    scratch: Path
    master: str | None = None
    python_path: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    sparks: int = 1
    cluster: ClusterSettings = field(default_factory=ClusterSettings)

    @property
    def spark_master(self) -> Master | None:
        """The master that is set, of which Spark's own setting takes precedence; None if there is none.

        Raises:
            SessionError: Spark has no such master.
        """
        url = self.settings.get(_MASTER) or self.master
        try:
            return master_of(url) if url is not None else None
        except ValueError as error:
            cause = f": {error}" if str(error) else ""
            raise SessionError(
                f"invalid Spark master `{url}`{cause}", f"a master must be {MASTERS}", setting=_MASTER
            ) from None

    @property
    def temporary(self) -> Path:
        """The directory of temporary files of Java and Spark, emptied before each start."""
        return self.scratch / "spark"

    @property
    def jvm_log(self) -> Path:
        """The file with the standard error of the Java process; an earlier process has `jvm.1.log`."""
        return self.logs / "jvm.log"

    @property
    def log_file(self) -> Path:
        """The file with Spark's log messages."""
        return self.logs / "spark.log"


def defaults(plan: SessionPlan, cores: int, memory: int) -> dict[str, str]:
    """Return the default Spark settings of a run.

    Arguments:
        cores: the number of cores of the machine.
        memory: the memory of the machine in bytes.

    Raises:
        SessionError: Spark has no such master.
    """
    cluster = plan.cluster
    master = plan.spark_master or master_of(f"local[{cores},4]")  # plain `local[N]` never retries a task
    heap = cluster.driver_memory.bytes // 1024**2 if cluster.driver_memory else _heap(memory // 1024**2, plan.sparks)
    settings = {
        _MASTER: master.url,
        "spark.app.name": plan.application,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(plan.temporary),
        "spark.sql.warehouse.dir": str(plan.scratch / "warehouse"),
        "spark.driver.memory": f"{heap}m",
        "spark.python.authenticate.socketTimeout": _WORKER_TIMEOUT,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        SOURCE_EVOLUTION: "true",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stopTimeout": _STOP_TIMEOUT,
        "spark.sql.streaming.pollingDelay": _POLLING_DELAY,
        # A query with several watermarks uses the slowest, so that no rows of an inlet with a backlog are late.
        "spark.sql.streaming.multipleWatermarkPolicy": "min",
    }
    if master.kind == "local":
        settings |= {
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.host": LOOPBACK,
            "spark.sql.shuffle.partitions": str(cluster.shuffle_partitions or _local_cores(master.url, cores)),
        }
    else:
        settings |= cluster_settings(cluster, master)
    if (cluster.modules or default_of("modules", master.kind) or "shared") == "shared":
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(plan.python_path)
    if _IN_ONE_PROCESS.match(master.url):
        settings["spark.authenticate"] = "true"  # with a random secret that stays in the Java process
    return settings


def _heap(memory: int, sparks: int) -> int:
    """Return the heap of each Java process in MiB.

    It is at most a quarter of the machine's memory each and half of it together, but at least 1 GiB, which Spark needs,
    and at most 8 GiB, which is enough for most applications.
    """
    return max(1024, min(8 * 1024, memory // 4, memory // 2 // sparks))


def _local_cores(master: str, cores: int) -> int:
    match = re.match(r"local\[(\d+|\*)", master)
    if match is None:
        return 1
    return cores if match[1] == "*" else int(match[1])


def log_settings(file: str) -> str:
    """Return the properties of log4j2: all messages go to a file, none to the terminal.

    Arguments:
        file: the path of the file.
    """
    return f"""\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss,SSS}} %p %c{{1}}: %m%n%ex
"""


def machine_memory() -> int:
    """Return the memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 4 * _GIB
