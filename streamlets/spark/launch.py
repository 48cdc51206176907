"""The launch of Spark: a JVM that exits with the process that started it."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from streamlets.planned.jar import planned_class_path, with_planned_jar
from streamlets.spark.auth_secret import require_secret, secret_settings
from streamlets.spark.callback_server import open_callback_server
from streamlets.spark.class_archive import archive_options
from streamlets.spark.cluster_settings import COMMAND, LOOPBACK, environment_settings
from streamlets.spark.functions import renew_functions
from streamlets.spark.java import launch_failure, require_java, start_failure
from streamlets.spark.launch_files import launch_files
from streamlets.spark.output import append, forward, keep
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan, defaults, log_settings, machine_memory
from streamlets.spark.spark_home import installed_zips, without_zip

# Seconds to wait for the standard error of a Java process that did not start.
_LOG_PATIENCE = 5.0
# Seconds between the end of a process's sockets and the report of its exit by the system.
_EXIT_PATIENCE = 1.0


def start(
    plan: SessionPlan,
    print_line: Callable[[str], None],
    meanwhile: Callable[[Any], None] | None = None,
    *,
    mask: Callable[[str], str] = str,
) -> Spark:
    """Start the JVM and the root session.

    Arguments:
        print_line: takes each line that the JVM prints (Spark's console sink does), without its end.
        meanwhile: called with the JVM in a thread of its own while the session starts, which uses one core.
        mask: replaces secrets in the lines of log files.

    Raises:
        SessionError: there is no Java, it is too old, or Spark refuses a setting.
    """
    require_java()
    plan.logs.mkdir(parents=True, exist_ok=True)
    # The files of a killed process are unused: this driver has a single Spark, which has not started yet.
    shutil.rmtree(plan.temporary, ignore_errors=True)
    plan.temporary.mkdir(parents=True, exist_ok=True)
    settings = _settings(plan)
    log4j = plan.scratch / "log4j2.properties"
    # In a JVM without memory, threads end and queries hang. If it exits, it is started again and its queries resume.
    own_options = _java_options(settings)
    java_options = (
        "-XX:+ExitOnOutOfMemoryError",
        f"-Djava.io.tmpdir={plan.temporary}",
        *own_options,
        f"-Dlog4j2.configurationFile=file:{log4j}",
    )
    _environment(plan, settings)

    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    renew_functions()
    # The supervisor reports errors to the user; PySpark would print them to the terminal again, as JSON.
    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_from_py4j)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    ours = "spark.pyspark.python" not in plan.settings
    with contextlib.ExitStack() as launching:
        home = launching.enter_context(without_zip(plan.scratch)) if ours else None
        options = (*archive_options(home, own_options), *java_options)
        launching.enter_context(launch_files(plan.scratch, settings, options))
        launching.enter_context(planned_class_path())
        gateway = _launch(plan, log4j, mask)
    process: subprocess.Popen[bytes] = gateway.proc
    threading.Thread(target=forward, args=(process.stdout, print_line), name="jvm-output", daemon=True).start()
    if meanwhile is not None:
        threading.Thread(target=meanwhile, args=(gateway.jvm,), name="jvm-meanwhile", daemon=True).start()
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        _silence(context)
        open_callback_server(gateway, print_line)
        return Spark(SparkSession(context), process)
    except (Py4JError, PySparkException, ValueError, OSError) as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise start_failure(process.wait(_EXIT_PATIENCE), plan.jvm_log) from error
        cause = _cause_of(error)
        process.kill()  # not before it has answered
        raise SessionError(
            f"Spark did not start: {cause}", f"check the settings in `flow.runtimes.spark` and see {plan.log_file}"
        ) from error


def _cause_of(error: Exception) -> str:
    """Return Java's message of an error; Java may not answer any more."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, Py4JJavaError):
        with contextlib.suppress(Py4JError, OSError):
            return str(error.java_exception.toString())
    return str(error)


def _settings(plan: SessionPlan) -> dict[str, str]:
    """Return the settings of Spark, with the secret of its cluster.

    Raises:
        SessionError: the secret is not known, or Spark has no such master.
    """
    master = plan.spark_master
    of_cluster = {}
    if master is not None and master.kind != "local":
        of_cluster = secret_settings(plan.cluster) | environment_settings(plan.cluster.environment)
    settings = defaults(plan, os.cpu_count() or 1, machine_memory()) | of_cluster | dict(plan.settings)
    require_secret(settings)
    return with_planned_jar(settings)


def _silence(context: Any) -> None:
    """Keep the server of accumulators from printing a traceback when the JVM exits."""
    context._accumulatorServer.handle_error = lambda request, client: None  # noqa: SLF001


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    """Return False for py4j's records of calls that an exiting JVM did not answer, which it logs as the root logger."""
    return not str(record.msg).startswith("Exception while sending command")


def _java_options(settings: Mapping[str, str]) -> list[str]:
    """Return the user's options for the driver's Java process."""
    name = "spark.driver.extraJavaOptions"
    try:
        return shlex.split(settings.get(name, ""))
    except ValueError as error:
        raise SessionError(f"invalid `{name}`: {error}", "close the quotation", setting=name) from error


def _launch(plan: SessionPlan, log4j: Path, mask: Callable[[str], str]) -> Any:
    """Start Java. Its log and its standard error are pipes, so that no secret gets into a file.

    Arguments:
        log4j: the file for the settings of the log.
        mask: replaces secrets in a line.
    """
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    error_log, errors = _kept(partial(keep, file=plan.jvm_log, mask=mask), "jvm-errors")
    _, log = _kept(partial(append, file=plan.log_file, mask=mask), "jvm-log")
    log4j.write_text(log_settings(f"/dev/fd/{log.fileno()}"), encoding="utf-8")
    # A process group of its own: Ctrl-C on the terminal must only reach the runner, or a drain would find no workers.
    # The JVM still exits with the runner, as that closes its standard input.
    pipes = {"stdout": subprocess.PIPE, "stderr": errors, "pass_fds": (log.fileno(),), "start_new_session": True}
    try:
        with errors, log:  # closed here once Java has them, so that the logs end with Java
            return launch_gateway(None, pipes)  # type: ignore[no-untyped-call]
    except PySparkException as error:
        error_log.join(_LOG_PATIENCE)
        raise launch_failure(_exit_code(error), plan.jvm_log) from error


def _kept(take: Callable[[IO[bytes]], None], name: str) -> tuple[threading.Thread, IO[bytes]]:
    """Return a thread that takes the output of a process, and the end of the pipe for the process."""
    read_end, write_end = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    thread = threading.Thread(target=take, args=(read_end,), name=name, daemon=True)
    thread.start()
    return thread, write_end


def _exit_code(error: BaseException) -> int:
    """Return the exit code of Java, of which PySpark only reports that it exited."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "launch_gateway":
            process: subprocess.Popen[bytes] = frame.f_locals["proc"]
            return process.wait()
    return 1


def _environment(plan: SessionPlan, settings: Mapping[str, str]) -> None:
    """Set the environment variables that the JVM and, through it, the Python workers inherit."""
    os.environ["PYSPARK_PYTHON"] = settings.get("spark.pyspark.python", sys.executable)
    if os.environ["PYSPARK_PYTHON"] == COMMAND:
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PIN_THREAD"] = "true"  # a drain takes and releases a lock in the same thread of the JVM
    inherited = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    path = [*plan.python_path, *(entry for entry in inherited if entry not in plan.python_path)]
    if path:
        os.environ["PYTHONPATH"] = os.pathsep.join(path)
    if settings.get("spark.driver.bindAddress") == LOOPBACK:
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK  # Spark's servers besides the driver's listen there, too
    if settings["spark.master"] == "yarn":
        os.environ.setdefault("PYSPARK_ARCHIVES_PATH", ",".join(map(str, installed_zips())))
