"""The entry point of the image. `executor` becomes an executor of Spark, and `driver`, as operators call it, a run.

Other words are a command line of `flow`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from blueprint.masters import DEFAULTS
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


_PROPERTIES = "--properties-file"
_FOR_SUBMISSION = re.compile(r"spark\.(master$|submit\.|kubernetes\.(submitInDriver$|driver\.(?!pod\.name$)))")
"""Settings that only a submission needs."""

_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def driver_command(arguments: Sequence[str], settings: Mapping[str, str], file: Path) -> tuple[list[str], str]:
    """Return the command line of `flow` for a driver that Spark has submitted, and the settings for it, as HOCON.

    `spark-submit` would start Java, which starts Python and does not pass signals on; `flow run` starts Java itself.

    Arguments:
        arguments: the words after `driver`: options of `spark-submit`, the program, and its own arguments.
        settings: the settings of Spark in the file of `--properties-file`.
        file: where the settings for `flow` will be.
    """
    words = list(arguments)
    while words and words[0].startswith("-"):
        del words[:2]
    own, names = words[1:], {name: row.key for row in DEFAULTS for name in row.spark[:1]}
    lines = [
        f"flow.cluster.{names[name]} = {json.dumps(value)}"
        if name in names
        else f"flow.runtimes.spark.{json.dumps(name)} = {json.dumps(value)}"
        for name, value in sorted(settings.items())
        if not _FOR_SUBMISSION.match(name)
    ]
    return [*own, "--conf", str(file), "--master", settings["spark.master"]], "".join(f"{line}\n" for line in lines)


def read_properties(text: str) -> dict[str, str]:
    """Return the content of a file of Java's properties, as Spark writes them: one in each line, with escapes."""

    def plain(escaped: str) -> str:
        return _ESCAPED.sub(lambda match: _unescaped(match[1]), escaped)

    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(("#", "!")))
    pairs = (re.fullmatch(r"((?:[^=\\]|\\.)*)=(.*)", line) for line in lines)
    return {plain(pair[1]): plain(pair[2]) for pair in pairs if pair is not None}


def _unescaped(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPES.get(escape, escape)


def _run_driver(arguments: Sequence[str]) -> None:
    given = dict(pairwise(arguments)).get(_PROPERTIES)
    if given is None:
        raise SystemExit(f"error: a driver needs `{_PROPERTIES} FILE`; Spark starts drivers with it")
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False, encoding="utf-8") as file:
        settings = read_properties(Path(given).read_text(encoding="latin-1"))
        command, text = driver_command(arguments, settings, Path(file.name))
        file.write(text)
    os.execvp("flow", ["flow", *command])


def main(arguments: Sequence[str]) -> None:
    """Become an executor or `flow`, with the same process id.

    Arguments:
        arguments: the words after the entry point.
    """
    if list(arguments[:1]) == ["driver"]:
        _run_driver(arguments[1:])
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
