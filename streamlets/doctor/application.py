"""Checks of what an application needs: its state directory, the jars of its channels, and their servers."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from blueprint.plan import ApplicationPlan
from blueprint.wording import counted, span
from streamlets.artifacts.connectors import available_jars_of, jars_of
from streamlets.artifacts.maven import ArtifactError, name_and_version, spark_jars
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.checks import Check, State
from streamlets.ownership import NotTrustedError, require_trusted
from streamlets.runner.topics import connectors_of

_GIB = 2**30
_LITTLE = _GIB
_TOO_LITTLE = _GIB // 10
# Seconds between the clocks of this machine and of a file system.
_SKEW = 5.0
_CORE = "spark-core_2.13"


def state_directory(directory: Path) -> Iterator[Check]:
    """Check that a state directory can be written, has room, and that its file system has the time of this machine.

    Arguments:
        directory: the state directory, which need not exist. A temporary file is created there, or in its parent.
    """
    place = next(parent for parent in (directory.absolute(), *directory.absolute().parents) if parent.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".flow-doctor-") as file:
            before = time.time()
            file.write(b"x")
            file.flush()
            changed, after = Path(file.name).stat().st_mtime, time.time()
    except OSError as error:
        yield Check(
            "state directory", State.ERROR, f"{place} cannot be written: {error.strerror}", "change its access rights"
        )
        return
    try:
        require_trusted(directory)
    except NotTrustedError as error:
        help = "choose a directory of your own with `--state-dir`, or correct the owner and the mode"
        yield Check("state directory", State.ERROR, f"{directory} is not safe to use: {error}", help)
        return
    yield Check("state directory", State.OK, f"{directory} can be written")
    yield _disk(place)
    skew = max(before - changed, changed - after, 0.0)
    if skew > _SKEW:
        detail = f"the clocks of this machine and of the file system of {place} differ by {span(skew)}"
        yield Check("clock", State.WARNING, detail, "synchronize the clocks of both machines, for example with chrony")
    else:
        yield Check("clock", State.OK, "the clock of the file system agrees")


def _disk(place: Path) -> Check:
    usage = shutil.disk_usage(place)
    detail = f"{usage.free / _GIB:.1f} GiB of {usage.total / _GIB:.1f} GiB are free"
    if usage.free >= _LITTLE:
        return Check("disk", State.OK, detail)
    state = State.ERROR if usage.free < _TOO_LITTLE else State.WARNING
    return Check("disk", state, detail, "free some space, or choose another state directory with `--state-dir`")


def jars(plan: ApplicationPlan, *, may_fetch: bool) -> Iterator[Check]:
    """Check that the jars of the settings, the channels and the sinks are on this machine.

    Arguments:
        plan: the application.
        may_fetch: whether to fetch missing jars.
    """
    connectors = connectors_of(plan)
    try:
        found = (jars_of if may_fetch else available_jars_of)(connectors, plan.artifacts)
    except ArtifactError as error:
        yield Check("jars", State.ERROR, str(error), error.help)
        return
    if found is None:
        help = "run `flow doctor --fetch`; otherwise `flow run` fetches them when it starts"
        yield Check("jars", State.WARNING, "they are not in the cache yet", help)
    elif found:
        versions = dict(map(name_and_version, found))
        yield _versions(versions, {name.removesuffix(".jar") for connector in connectors for name in connector.jars})


def _versions(versions: dict[str, str], needed: set[str]) -> Check:
    """Return whether Spark's connectors have the version of Spark."""
    spark = spark_jars()[_CORE]
    shown = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()) if name in needed)
    others = [name for name in needed & versions.keys() if name.startswith("spark-") and versions[name] != spark]
    if others:
        help = f"set `flow.spark.packages` to version {spark} of them, unless your repository does not have it"
        return Check("jars", State.WARNING, f"{shown}; PySpark is {spark}", help)
    return Check("jars", State.OK, shown or counted(len(versions), "jar"))


def servers(plan: ApplicationPlan) -> Iterator[Check]:
    """Check that the servers of the topics answer."""
    for name in sorted({topic.channel for topic in plan.topics}):
        yield from CHANNEL_TYPES[name].check([topic for topic in plan.topics if topic.channel == name])
