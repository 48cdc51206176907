"""The entry point of the image: `executor` becomes an executor of Spark, other words are a command line of `flow`."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamlets.artifacts.java import java_command

_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
"""The arguments of the backend, and the variables with which Spark describes an executor to its pod."""

_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def executor_command(java: str, jars: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the command of an executor.

    Arguments:
        java: the command of Java.
        jars: the directory of Spark's jars.
        environment: the variables that Spark has set in the pod.

    Raises:
        KeyError: a variable is not set.
    """
    options = sorted((int(match[1]), value) for name, value in environment.items() if (match := _OPTION.match(name)))
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    paths = [environment.get("SPARK_CONF_DIR", ""), environment.get("SPARK_EXTRA_CLASSPATH", ""), f"{jars}/*"]
    return [
        java,
        *(value for _, value in options),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        os.pathsep.join(filter(None, paths)),
        _BACKEND,
        *(word for argument, name in _ARGUMENTS.items() for word in (argument, environment[name])),
    ]


def main(arguments: Sequence[str]) -> None:
    """Become an executor or `flow`.

    Arguments:
        arguments: the words after the entry point.
    """
    if list(arguments[:1]) != ["executor"]:
        os.execvp("flow", ["flow", *arguments])
    spark = importlib.util.find_spec("pyspark")
    assert spark is not None and spark.origin is not None
    try:
        command = executor_command(java_command(), Path(spark.origin).with_name("jars"), os.environ)
    except KeyError as error:
        raise SystemExit(f"error: {error} is not set; Spark starts executors with it") from None
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
