"""Starts Spark: one JVM that lives and dies with the process that starts it."""

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
from typing import Any

from streamlets.spark.functions import renew_functions
from streamlets.spark.java import launch_failure, require_java, start_failure
from streamlets.spark.launch_files import launch_files
from streamlets.spark.output import forward, keep
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan, defaults, log_settings, machine_memory
from streamlets.spark.spark_home import without_zip

# Seconds for what a Java process said that did not come up.
_LAST_WORDS = 5.0
# Between the moment its sockets close and the moment the system reports its end.
_DYING = 1.0


def start(
    plan: SessionPlan, print_line: Callable[[str], None], meanwhile: Callable[[Any], None] | None = None
) -> Spark:
    """Start the JVM and the root session.

    Arguments:
        print_line: takes each line that the JVM prints (Spark's console sink does), without its end.
        meanwhile: called with the JVM in a thread of its own while the session starts, which uses one core.

    Raises:
        SessionError: there is no Java, it is too old, or Spark refuses a setting.
    """
    require_java()
    plan.logs.mkdir(parents=True, exist_ok=True)
    # What a killed process left there nobody else uses: this driver's Spark is the only one, and it is not there yet.
    shutil.rmtree(plan.temporary, ignore_errors=True)
    plan.temporary.mkdir(parents=True, exist_ok=True)
    settings = defaults(plan, os.cpu_count() or 1, machine_memory()) | dict(plan.settings)
    log4j = plan.scratch / "log4j2.properties"
    log4j.write_text(log_settings(plan), encoding="utf-8")
    # A JVM without memory limps: threads die, queries hang. Ended, it is started again and its queries resume.
    java_options = (
        "-XX:+ExitOnOutOfMemoryError",
        f"-Djava.io.tmpdir={plan.temporary}",
        *_java_options(settings),
        f"-Dlog4j2.configurationFile=file:{log4j}",
    )
    _environment(plan, settings)

    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    renew_functions()
    # Errors reach the user through the supervisor; pyspark would print them to the terminal a second time, as JSON.
    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_py4js)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    ours = settings["spark.master"].startswith("local") and "spark.pyspark.python" not in settings
    home = without_zip(plan.scratch) if ours else contextlib.nullcontext()
    with home, launch_files(plan.scratch, settings, java_options):
        gateway = _launch(plan)
    process: subprocess.Popen[bytes] = gateway.proc
    threading.Thread(target=forward, args=(process.stdout, print_line), name="jvm-output", daemon=True).start()
    if meanwhile is not None:
        threading.Thread(target=meanwhile, args=(gateway.jvm,), name="jvm-meanwhile", daemon=True).start()
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        _silence(context)
        return Spark(SparkSession(context), process)
    except (Py4JError, PySparkException, ValueError, OSError) as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise start_failure(process.wait(_DYING), plan.jvm_log) from error
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


def _java_options(settings: Mapping[str, str]) -> list[str]:
    """The user's options of the driver's Java process."""
    name = "spark.driver.extraJavaOptions"
    try:
        return shlex.split(settings.get(name, ""))
    except ValueError as error:
        raise SessionError(f"invalid `{name}`: {error}", "close the quotation", setting=name) from error


def _launch(plan: SessionPlan) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    heard, said = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    noise = threading.Thread(target=keep, args=(heard, plan.jvm_log), name="jvm-complaints", daemon=True)
    noise.start()
    # A process group of its own: Ctrl-C on the terminal must reach the runner alone, or a drain finds dead workers.
    # The JVM still dies with the runner, however that ends: its standard input closes.
    pipes = {"stdout": subprocess.PIPE, "stderr": said, "start_new_session": True}
    try:
        with said:  # Java has it by then, and what it says ends with it
            return launch_gateway(None, pipes)  # type: ignore[no-untyped-call]
    except PySparkException as error:
        noise.join(_LAST_WORDS)
        raise launch_failure(_exit_code(error), plan.jvm_log) from error


def _exit_code(error: BaseException) -> int:
    """How Java ended; PySpark reports only that it did."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "launch_gateway":
            process: subprocess.Popen[bytes] = frame.f_locals["proc"]
            return process.wait()
    return 1


def _environment(plan: SessionPlan, settings: Mapping[str, str]) -> None:
    """What the JVM and, through it, the Python workers inherit."""
    os.environ["PYSPARK_PYTHON"] = settings.get("spark.pyspark.python", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PIN_THREAD"] = "true"  # to drain is to take a lock in the JVM and give it back in one thread
    kept = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    wanted = [*plan.python_path, *(entry for entry in kept if entry not in plan.python_path)]
    if wanted:
        os.environ["PYTHONPATH"] = os.pathsep.join(wanted)
    if settings["spark.master"].startswith("local"):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
