"""The Spark session of a run: one JVM that lives and dies with the runner, and a child session per streamlet."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from streamlets.runner.spark.spark_home import without_zip

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

# An idle query asks its sources for news this often. Spark's own 10 ms cost 0.13 cores for 4 queries, 500 ms 0.02.
_POLLING_DELAY = "250ms"
# Spark's own default is to wait for ever; a batch that cannot be interrupted would hang the runner.
_STOP_TIMEOUT = "30s"
# How long Python's side of a worker waits for the JVM; 15 s are too few while a loaded machine starts many workers.
# (The JVM's side waits 10 s for a source's process and 60 s for a worker, which no setting changes.)
_WORKER_TIMEOUT = "120s"
_OLDEST_JAVA = 17
_GIB = 1024**3

_INSTALL_JAVA = (
    "install a Java runtime, version 17 or newer: `apt-get install openjdk-17-jre-headless` (Debian, Ubuntu), "
    "`brew install openjdk@17` (macOS), or https://adoptium.net; then set JAVA_HOME or put `java` on PATH"
)


class SessionError(Exception):
    """Spark cannot be started; `help` says what to do about it, `setting` which setting it refuses if it is one."""

    def __init__(self, message: str, help: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.help = help
        self.setting = setting


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
    """

    application: str
    logs: Path
    scratch: Path
    master: str | None = None
    python_path: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

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
        "spark.local.dir": str(plan.scratch),
        "spark.sql.warehouse.dir": str(plan.scratch / "warehouse"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(plan.python_path),
        "spark.python.authenticate.socketTimeout": _WORKER_TIMEOUT,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stopTimeout": _STOP_TIMEOUT,
        "spark.sql.streaming.pollingDelay": _POLLING_DELAY,
    }
    if master.startswith("local"):
        found |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": f"{max(1024, min(8 * 1024, memory // 4 // 1024**2))}m",
            "spark.sql.shuffle.partitions": str(_local_cores(master, cores)),
        }
    return found


def _local_cores(master: str, cores: int) -> int:
    match = re.match(r"local\[(\d+|\*)", master)
    if match is None:
        return 1
    return cores if match[1] == "*" else int(match[1])


def _log_settings(plan: SessionPlan) -> str:
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


@dataclass(frozen=True, slots=True)
class Spark:
    """A running Spark: its root session and the process behind it."""

    session: SparkSession
    process: subprocess.Popen[bytes]

    def child(self, settings: Mapping[str, str]) -> SparkSession:
        """A session of a streamlet's own: its settings, views and query names are not seen by others.

        Raises:
            SessionError: a setting belongs to the whole application, or Spark refuses its value.
        """
        return child_session(self.session, settings)

    def stop(self, patience: float = 20.0) -> None:
        """Stop Spark and see to it that its process is gone after `patience` seconds, whatever it is doing."""
        stopping = threading.Thread(target=self._stop_session, name="spark-stop", daemon=True)
        stopping.start()
        stopping.join(patience)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(1.0 if stopping.is_alive() else patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def forget(self) -> None:
        """Make room for another Spark in this process after the one behind this has died: pyspark keeps one of each."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context: Any = SparkContext
        gateway = context._gateway  # noqa: SLF001 - there is no public way
        for step in (self.session.sparkContext.stop, gateway.shutdown_callback_server, gateway.close):
            with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                step()
        context._gateway = context._jvm = context._active_spark_context = None  # noqa: SLF001
        SparkSession._instantiatedSession = None  # noqa: SLF001

    def _stop_session(self) -> None:
        with contextlib.suppress(Exception):  # the process may be gone; what matters is that it is, in the end
            self.session.stop()


def child_session(root: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session of a streamlet's own beside a root session.

    Raises:
        SessionError: a setting belongs to the whole application, or Spark refuses its value; `setting` is its name.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    session = root.newSession()
    for key, value in settings.items():
        try:
            session.conf.set(key, value)
        except (PySparkException, Py4JError) as error:
            raise SessionError(
                f"Spark refuses the setting `{key} = {value}` for a single streamlet: {_reason(error)}",
                "settings of the whole application stand in `flow.runtimes.spark`",
                setting=key,
            ) from error
    return session


def _reason(error: Exception) -> str:
    """What Spark says, in a line."""
    from py4j.protocol import Py4JJavaError

    return str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error).partition("\n")[0]


def start(plan: SessionPlan, print_line: Callable[[str], None]) -> Spark:
    """Start the JVM and the root session.

    Arguments:
        print_line: takes each line that the JVM prints (Spark's console sink does), without its end.

    Raises:
        SessionError: there is no Java, it is too old, or Spark refuses a setting.
    """
    _require_java()
    plan.logs.mkdir(parents=True, exist_ok=True)
    plan.scratch.mkdir(parents=True, exist_ok=True)
    settings = defaults(plan, os.cpu_count() or 1, _machine_memory()) | dict(plan.settings)
    log_settings = plan.scratch / "log4j2.properties"
    log_settings.write_text(_log_settings(plan), encoding="utf-8")
    options = "spark.driver.extraJavaOptions"
    # A JVM without memory limps: threads die, queries hang. Ended, it is started again and its queries resume.
    given = settings.get(options, "")
    settings[options] = f"-XX:+ExitOnOutOfMemoryError {given} -Dlog4j2.configurationFile=file:{log_settings}"
    _environment(plan, settings)

    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Errors reach the user through the supervisor; pyspark would print them to the terminal a second time, as JSON.
    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_py4js)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    ours = settings["spark.master"].startswith("local") and "spark.pyspark.python" not in settings
    with without_zip(plan.scratch) if ours else contextlib.nullcontext():
        gateway = _launch(conf, plan)
    process: subprocess.Popen[bytes] = gateway.proc
    threading.Thread(target=_forward, args=(process.stdout, print_line), name="jvm-output", daemon=True).start()
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        _silence(context)
        return Spark(SparkSession(context), process)
    except (Py4JError, PySparkException, ValueError) as error:
        process.kill()
        cause = str(error.java_exception.toString() if isinstance(error, Py4JJavaError) else error)
        raise SessionError(
            f"Spark did not start: {cause}", f"check the settings in `flow.runtimes.spark` and see {plan.log_file}"
        ) from error


def _silence(context: Any) -> None:
    """The server of accumulators would print a traceback when the JVM dies."""
    context._accumulatorServer.handle_error = lambda request, client: None  # noqa: SLF001


def _not_py4js(record: logging.LogRecord) -> bool:
    """py4j tells each call that a dying JVM did not answer, in the name of the root logger."""
    return not str(record.msg).startswith("Exception while sending command")


def _launch(conf: SparkConf, plan: SessionPlan) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    log = plan.jvm_log
    if log.exists():  # the last words of the one before
        log.replace(log.with_suffix(".1.log"))
    with log.open("wb") as noise:
        # A process group of its own: Ctrl-C on the terminal must reach the runner alone, or a drain finds dead workers.
        # The JVM still dies with the runner, however that ends: its standard input closes.
        pipes = {"stdout": subprocess.PIPE, "stderr": noise, "start_new_session": True}
        try:
            return launch_gateway(conf, pipes)  # type: ignore[no-untyped-call]
        except PySparkException as error:
            raise _launch_failure(log) from error


def _environment(plan: SessionPlan, settings: Mapping[str, str]) -> None:
    """What the JVM and, through it, the Python workers inherit."""
    os.environ["PYSPARK_PYTHON"] = settings.get("spark.pyspark.python", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    kept = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    wanted = [*plan.python_path, *(entry for entry in kept if entry not in plan.python_path)]
    if wanted:
        os.environ["PYTHONPATH"] = os.pathsep.join(wanted)
    if settings["spark.master"].startswith("local"):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _forward(stream: IO[bytes], print_line: Callable[[str], None]) -> None:
    for line in stream:
        print_line(line.decode("utf-8", errors="replace").rstrip("\r\n"))


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 4 * _GIB


def _java() -> str | None:
    """The Java that Spark's launch script takes."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _require_java() -> None:
    java = _java()
    if java is None:
        raise SessionError("Spark needs Java, and there is none on PATH and no JAVA_HOME", _INSTALL_JAVA)
    if not Path(java).is_file():
        raise SessionError(f"JAVA_HOME is {os.environ['JAVA_HOME']}, but there is no {java}", _INSTALL_JAVA)


def _launch_failure(log: Path) -> SessionError:
    """Why the JVM did not come up: it is too old, or else what it said."""
    try:
        told = subprocess.run([_java() or "java", "-version"], capture_output=True, text=True, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return SessionError(f"Spark needs Java, and `java -version` fails: {error}", _INSTALL_JAVA)
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version and int(version[1]) < _OLDEST_JAVA:
        return SessionError(f"Spark needs Java {_OLDEST_JAVA} or newer, and this is Java {version[1]}", _INSTALL_JAVA)
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in said if re.search(r"(Exception|Error|Invalid)\b.*:|Invalid", line)]
    cause = (telling or said or ["it said nothing"])[0].removeprefix('Exception in thread "main" ')
    return SessionError(
        f"Spark's Java process ended at once: {cause}", f"check the settings in `flow.runtimes.spark` and see {log}"
    )
