"""`flow.cluster` as settings of Spark, for each kind of master."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from blueprint.core_settings import ClusterSettings
from blueprint.masters import MOST_PARTITIONS, Master, default_of, spark_settings_of
from blueprint.quantities import MemorySize
from streamlets.spark.session import SessionError

LOOPBACK = "127.0.0.1"
ENVIRONMENT = "environment"
"""The directory below which executors find an unpacked environment."""
CORES_MAX = "spark.cores.max"
"""Spark's limit of the cores of an application on a standalone cluster."""

COMMAND = "python3"
"""The command of Python with an environment of the executors."""

_MIB = 1024**2
_ALIKE = ("driver_port", "block_manager_port", "executors", "executor_cores", "executor_memory", "task_failures")
"""The settings that are passed to Spark as they are."""


def cluster_settings(cluster: ClusterSettings, master: Master) -> dict[str, str]:
    """Return the settings of Spark for a master that is not in the driver's process, without secrets.

    Arguments:
        cluster: the settings of the application.
        master: the master.
    """
    kind = master.kind
    settings = dict(_addresses(cluster, master))
    for field in _ALIKE:
        value = getattr(cluster, field)
        settings |= dict.fromkeys(spark_settings_of(field), _text(value) or default_of(field, kind))
    if kind == "standalone":
        settings["spark.executor.instances"] = ""  # a standalone master does not read it
        settings |= dict.fromkeys(spark_settings_of("cores_max"), _text(cores_of(cluster, master)))
    authenticated = authenticates(cluster, master)
    encrypted = authenticated if cluster.encrypt is None else cluster.encrypt
    settings["spark.authenticate"] = _text(authenticated)
    settings |= dict.fromkeys(spark_settings_of("encrypt"), _text(encrypted))
    settings |= dict.fromkeys(spark_settings_of("shuffle_partitions"), str(partitions_of(cluster, master)))
    return {key: value for key, value in settings.items() if value}


def authenticates(cluster: ClusterSettings, master: Master) -> bool:
    """Return whether connections are authenticated. Kubernetes and YARN get a secret from Spark itself."""
    if cluster.authenticate is not None:
        return cluster.authenticate
    return cluster.secret.is_set or default_of("authenticate", master.kind) == "true"


def cores_of(cluster: ClusterSettings, master: Master) -> int | None:
    """Return how many tasks an application on a cluster runs at once; None if the settings do not say it."""
    executors = cluster.executors or int(default_of("executors", master.kind) or 0)
    each = cluster.executor_cores or int(default_of("executor_cores", master.kind) or 0)
    if master.kind == "standalone" and cluster.cores_max is not None:
        return cluster.cores_max
    return executors * each or None


def partitions_of(cluster: ClusterSettings, master: Master) -> int:
    """Return how many partitions a shuffle has on a cluster, unless the user's settings of Spark say it."""
    return cluster.shuffle_partitions or min(MOST_PARTITIONS, cores_of(cluster, master) or MOST_PARTITIONS)


def environment_settings(environment: str | None) -> dict[str, str]:
    """Return the settings for an archive with the environment of the executors.

    Java looks a program up in the `PATH` of its own process. So the command is the archive's in executors, and the one
    of the runner in the driver, where Spark starts processes with the same command. Spark gives these processes the
    variables of executors, too, and Python looks for its packages next to the program that it finds in `PATH`.

    Arguments:
        environment: the absolute path of the archive; None without one.

    Raises:
        SessionError: there is no such file.
    """
    if environment is None:
        return {}
    if not Path(environment).is_file():
        raise SessionError(
            f"`flow.cluster.environment` names {environment}, but the file does not exist",
            "correct the path, or pack the environment, for example with `conda pack`",
        )
    return {
        "spark.archives": f"{environment}#{ENVIRONMENT}",
        "spark.pyspark.python": COMMAND,
        "spark.executorEnv.PATH": f"./{ENVIRONMENT}/bin:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    }


def _addresses(cluster: ClusterSettings, master: Master) -> Iterator[tuple[str, str]]:
    host = cluster.driver_host or (LOOPBACK if master.on_loopback else "")
    bind = cluster.driver_bind_address or (
        host if master.on_loopback else default_of("driver_bind_address", master.kind)
    )
    yield "spark.driver.host", host
    yield "spark.driver.bindAddress", bind or host


def _text(value: object) -> str:
    """Return a value in the notation of Spark; "" for None."""
    if isinstance(value, MemorySize):
        return f"{max(1, value.bytes // _MIB)}m"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
