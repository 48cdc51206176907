"""Masters of Spark: what their URLs say, and the defaults of `flow.cluster` for each kind of master."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from blueprint.loopback import is_loopback

Kind = Literal["local", "standalone", "kubernetes", "yarn"]
"""Where Spark's tasks run: in the driver's process, or in executors of one of Spark's cluster managers."""

KINDS: tuple[Kind, ...] = ("local", "standalone", "kubernetes", "yarn")

MASTERS = "`local[N]`, `spark://HOST:PORT`, `k8s://https://HOST:PORT` or `yarn`"
"""The forms of a master, for messages."""

_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*\d+)?\]|-cluster\[.*\])?")
_STANDALONE = re.compile(r"spark://(?P<masters>[^/,]+:\d+(?:,[^/,]+:\d+)*)")


@dataclass(frozen=True, slots=True)
class Master:
    """A master of Spark.

    Arguments:
        url: as Spark takes it.
        kind: the kind of its cluster.
        addresses: the hosts and ports at which it answers; () for YARN, whose configuration has them.
    """

    url: str
    kind: Kind
    addresses: tuple[tuple[str, int], ...] = ()

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it, so that all executors run here."""
        return self.kind == "local" or (bool(self.addresses) and all(is_loopback(host) for host, _ in self.addresses))


def master_of(url: str) -> Master:
    """Return the master of a URL.

    Raises:
        ValueError: Spark has no such master; the message is the cause.
    """
    if _LOCAL.fullmatch(url):
        return Master(url, "local")
    if url == "yarn":
        return Master(url, "yarn")
    if match := _STANDALONE.fullmatch(url):
        return Master(url, "standalone", tuple(map(_address, match["masters"].split(","))))
    if url.startswith("k8s://"):
        return Master(url, "kubernetes", (_server(url.removeprefix("k8s://")),))
    raise ValueError("a standalone master has a port, by default 7077" if url.startswith("spark://") else "")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _server(url: str) -> tuple[str, int]:
    """Return the host and port of a server of Kubernetes; without a scheme, Spark uses https."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise ValueError("the URL of the API server follows `k8s://`, such as `k8s://https://10.0.0.1:6443`")
    return parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)


@dataclass(frozen=True, slots=True)
class Default:
    """The default of a setting of `flow.cluster`.

    Arguments:
        field: the setting's field in `ClusterSettings`.
        spark: Spark's settings that it sets.
        values: the value for each kind of master; "" where Spark's own default applies or the setting has no effect.
        notes: for the documentation, in place of a value that is not the same everywhere.
    """

    field: str
    spark: tuple[str, ...]
    values: Mapping[Kind, str]
    notes: Mapping[Kind, str]

    @property
    def key(self) -> str:
        """The key of the setting below `flow.cluster`."""
        return self.field.replace("_", "-")

    def shown(self, kind: Kind) -> str:
        """Return the default as the documentation shows it; "" where the setting has no effect."""
        return self.notes.get(kind) or self.values.get(kind, "")


def _row(field: str, *spark: str, values: Mapping[Kind, str] | None = None, **notes: str) -> Default:
    return Default(field, spark, values or {}, {kind: notes[kind] for kind in KINDS if kind in notes})


def _of_clusters(value: str) -> dict[Kind, str]:
    return {"standalone": value, "kubernetes": value, "yarn": value}


_ADDRESS = "`127.0.0.1` if the master is on loopback, otherwise required"
_MEMORY = "a quarter of the machine's memory, 1 to 8 GiB"
_PARTITIONS = "the cores, at most 16; 16 if their number is not set"

DEFAULTS: tuple[Default, ...] = (
    _row(
        "driver_host", "spark.driver.host",
        local="`127.0.0.1`, always", standalone=_ADDRESS, kubernetes=_ADDRESS, yarn="always required",
    ),
    _row(
        "driver_bind_address", "spark.driver.bindAddress", values={"kubernetes": "0.0.0.0"},
        local="`127.0.0.1`, always", standalone="`driver-host`", kubernetes="`0.0.0.0`, or `driver-host` on loopback",
        yarn="`driver-host`",
    ),
    _row("driver_port", "spark.driver.port", values={"kubernetes": "7078"}, standalone="a free one", yarn="a free one"),
    _row(
        "block_manager_port", "spark.driver.blockManager.port", values={"kubernetes": "7079"},
        standalone="a free one", yarn="a free one",
    ),
    _row(
        "authenticate", "spark.authenticate", values={"kubernetes": "true", "yarn": "true"},
        local="`true`, always", standalone="whether `secret` is set",
    ),
    _row(
        "encrypt", "spark.network.crypto.enabled", "spark.io.encryption.enabled",
        standalone="as `authenticate`", kubernetes="as `authenticate`", yarn="as `authenticate`",
    ),
    _row(
        "driver_memory", "spark.driver.memory", local=_MEMORY, standalone=_MEMORY, kubernetes=_MEMORY, yarn=_MEMORY
    ),
    _row("cores_max", "spark.cores.max", standalone="all cores of the cluster"),
    _row(
        "executors", "spark.executor.instances", values={"kubernetes": "2", "yarn": "2"},
        standalone="as many as the workers have room for",
    ),
    _row(
        "executor_cores", "spark.executor.cores", values={"kubernetes": "1", "yarn": "1"},
        standalone="all of a worker",
    ),
    _row("executor_memory", "spark.executor.memory", values=_of_clusters("1g")),
    _row("task_failures", "spark.task.maxFailures", values=_of_clusters("4"), local="4, in the default master"),
    _row(
        "shuffle_partitions", "spark.sql.shuffle.partitions",
        local="the cores", standalone=_PARTITIONS, kubernetes=_PARTITIONS, yarn=_PARTITIONS,
    ),
    _row("modules", values={"standalone": "shared", "kubernetes": "image", "yarn": "files"}),
    _row("environment", "spark.archives", "spark.pyspark.python"),
    _row("start_timeout", values=_of_clusters("2 minutes")),
    _row("executor_patience", values=_of_clusters("1 minute")),
)  # fmt: skip
"""A row for each setting whose default depends on the kind of master, or that sets settings of Spark."""

MOST_PARTITIONS = 16
"""The most shuffle partitions by default: each has files of state in each batch, and their number cannot change."""


def default_of(field: str, kind: Kind) -> str:
    """Return the default of a setting for a kind of master; "" if it has none."""
    return next(row.values.get(kind, "") for row in DEFAULTS if row.field == field)


def spark_settings_of(field: str) -> tuple[str, ...]:
    """Return the settings of Spark that a setting sets."""
    return next(row.spark for row in DEFAULTS if row.field == field)
