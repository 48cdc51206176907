"""Spark's own settings: which names exist, and what a name that does not exist may be a misspelling of.

The names are in `spark_settings.txt`, which `.ci/spark-settings` writes.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from blueprint.spelling import misspelling_of, near

OPEN_PREFIXES = (
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.hive.",
    "spark.kafka.",
    "spark.kubernetes.",
    "spark.metrics.conf.",
    "spark.pstl.",
    "spark.sql.catalog.",
    "spark.ssl.",
    "spark.yarn.appMasterEnv.",
    # The parts of settings that Spark composes: `spark.<module>.io.<setting>`, the resources of executors, queues.
    "spark.driver.resource.",
    "spark.executor.resource.",
    "spark.files.io.",
    "spark.network.io.",
    "spark.rpc.io.",
    "spark.rpc.netty.",
    "spark.scheduler.listenerbus.eventqueue.",
    "spark.shuffle.io.",
    "spark.task.resource.",
    "spark.worker.resource.",
)
"""Prefixes below which a name is chosen by the user, a cluster manager or a connector."""

_SHARED = (("spark",), ("spark", "sql"))
"""Sections to which plug-ins add settings of their own; their names are only compared with Spark's names."""

_MOST_SUGGESTED = 3


class _Node(dict[str, "_Node"]):
    """The names below a section of settings, by their next part."""


@cache
def spark_setting_names() -> frozenset[str]:
    """Return the names of Spark's settings."""
    lines = resources.files(__package__).joinpath("spark_settings.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


@cache
def _tree() -> _Node:
    """Return all names as a tree."""
    root = _Node()
    for name in spark_setting_names():
        node = root
        for part in name.split("."):
            node = node.setdefault(part, _Node())
    return root


def is_unknown(name: str) -> bool:
    """Return whether Spark has no setting with a name, and no plug-in is likely to have one.

    Arguments:
        name: the full name, such as `spark.sql.shuffle.partitions`.
    """
    if name.startswith(OPEN_PREFIXES) or name in spark_setting_names():
        return False
    *section, _ = name.split(".")
    return (tuple(section) not in _SHARED and _below(section) is not None) or bool(meant(name))


def meant(name: str) -> tuple[str, ...]:
    """Return the settings from which an unknown name differs in one part, which is similar; best first."""
    parts = name.split(".")
    candidates = (
        ".".join((*parts[:index], similar, *parts[index + 1 :]))
        for index, part in enumerate(parts)
        for similar in near(part, _below(parts[:index]) or ())
        if index == len(parts) - 1 or misspelling_of(part, (similar,)) is not None
    )
    return tuple(name for name in candidates if name in spark_setting_names())[:_MOST_SUGGESTED]


def _below(section: list[str]) -> _Node | None:
    """Return the names below a section; None when Spark has no such section."""
    node: _Node | None = _tree()
    for part in section:
        node = node.get(part) if node is not None else None
    return node
