"""Which settings the Spark of a run has: the defaults before the user's, and where its logs go."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamlets.api.building import SOURCE_EVOLUTION

# An idle query asks its sources for news this often. Spark's own 10 ms cost 0.13 cores for 4 queries, 500 ms 0.02.
_POLLING_DELAY = "250ms"
# Spark's own default is to wait for ever; a batch that cannot be interrupted would hang the runner.
_STOP_TIMEOUT = "30s"
# How long Python's side of a worker waits for the JVM; 15 s are too few while a loaded machine starts many workers.
# (The JVM's side waits 10 s for a source's process and 60 s for a worker, which no setting changes.)
_WORKER_TIMEOUT = "120s"
_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What a run's Spark is to be like.

    Arguments:
        application: its name.
        logs: the folder that takes Spark's log files (`spark.log`, and `jvm.log` for what log4j does not catch).
        scratch: a folder for Spark's temporary files, emptied by whoever owns it.
        master: Spark's master; None means all cores of this machine, each task tried four times.
        python_path: folders that drivers and workers import modules from, first one first.
        settings: Spark settings of the application; they win over the defaults.
        sparks: how many Sparks share this machine's memory.
    """

    application: str
    logs: Path
    scratch: Path
    master: str | None = None
    python_path: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    sparks: int = 1

    @property
    def temporary(self) -> Path:
        """Where Java and Spark put their temporary files; emptied before each start."""
        return self.scratch / "spark"

    @property
    def jvm_log(self) -> Path:
        """Where the Java process complains when log4j cannot; that of the one before is `jvm.1.log`."""
        return self.logs / "jvm.log"

    @property
    def log_file(self) -> Path:
        """Where Spark's own messages go."""
        return self.logs / "spark.log"


def defaults(plan: SessionPlan, cores: int, memory: int) -> dict[str, str]:
    """The Spark settings of a run before the user's.

    Arguments:
        cores, memory: what the machine has; memory in bytes.
    """
    master = plan.master or f"local[{cores},4]"  # plain `local[N]` never tries a task again
    found = {
        "spark.master": master,
        "spark.app.name": plan.application,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(plan.temporary),
        "spark.sql.warehouse.dir": str(plan.scratch / "warehouse"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(plan.python_path),
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
        # A query with several watermarks goes by the slowest: an inlet with a backlog is not outrun by the others.
        "spark.sql.streaming.multipleWatermarkPolicy": "min",
    }
    if master.startswith("local"):
        found |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": f"{_heap(memory // 1024**2, plan.sparks)}m",
            "spark.sql.shuffle.partitions": str(_local_cores(master, cores)),
        }
    return found


def _heap(memory: int, sparks: int) -> int:
    """What each Java process may take of a machine's memory, in MiB: a quarter of it, and all together half of it; but
    never less than 1 GiB, with which little can be done, nor more than 8, which few need."""
    return max(1024, min(8 * 1024, memory // 4, memory // 2 // sparks))


def _local_cores(master: str, cores: int) -> int:
    match = re.match(r"local\[(\d+|\*)", master)
    if match is None:
        return 1
    return cores if match[1] == "*" else int(match[1])


def log_settings(plan: SessionPlan) -> str:
    """log4j2's properties: everything into one file of limited size, nothing onto the terminal."""
    return f"""\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {plan.log_file}
appender.file.filePattern = {plan.log_file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss,SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def machine_memory() -> int:
    """The memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 4 * _GIB
