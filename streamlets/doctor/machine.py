"""Checks of this machine: Java, Python, and the packages that Streamlets requires."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

from streamlets.artifacts.java import INSTALL_JAVA, OLDEST_JAVA, NoJavaError, java_command, java_version
from streamlets.checks import Check, State

_SHOWN = ("pyspark", "pyarrow", "pandas")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?P<bounds>[<>=!~,.\w\s]*)(?:;\s*(?P<condition>.*))?")
_PROBE = "import json, pyarrow, pyspark, sys; print(json.dumps([sys.version_info[:2], pyspark.__version__]))"
_PATIENCE = 60.0


def java() -> Check:
    """Check that Java exists and is new enough for Spark."""
    try:
        command = java_command()
        version = java_version()
    except (NoJavaError, OSError, subprocess.TimeoutExpired) as error:
        return Check("Java", State.ERROR, str(error), INSTALL_JAVA)
    if version is None:
        return Check("Java", State.ERROR, f"`{command} -version` does not show a version", INSTALL_JAVA)
    if version < OLDEST_JAVA:
        detail = f"found Java {version} ({command}), but Spark needs Java {OLDEST_JAVA} or newer"
        return Check("Java", State.ERROR, detail, INSTALL_JAVA)
    return Check("Java", State.OK, f"{version} ({command})")


def python(workers: str | None) -> Check:
    """Check that Spark's workers have the Python and the PySpark of this process.

    Arguments:
        workers: the command of their Python (`spark.pyspark.python`); None for the Python of this process.
    """
    own = f"{platform.python_version()} ({sys.executable})"
    if workers is None or workers == sys.executable:
        return Check("Python", State.OK, f"{own}, for Spark's workers, too")
    help = (
        f"set `flow.runtimes.spark.pyspark.python` to a Python {sys.version_info[0]}.{sys.version_info[1]} with PySpark"
    )
    try:
        probe = subprocess.run([workers, "-c", _PROBE], capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Python", State.ERROR, f"the Python of Spark's workers, {workers}, does not run: {error}", help)
    if probe.returncode != 0:
        reason = probe.stderr.strip().rpartition("\n")[2]
        return Check(
            "Python", State.ERROR, f"the Python of Spark's workers, {workers}, lacks a package: {reason}", help
        )
    (major, minor), pyspark = json.loads(probe.stdout)
    if (major, minor) != sys.version_info[:2] or pyspark != importlib.metadata.version("pyspark"):
        detail = f"Spark's workers have Python {major}.{minor} and PySpark {pyspark}, the runner {own}"
        return Check("Python", State.ERROR, detail, help)
    return Check("Python", State.OK, f"{own}; Spark's workers: {workers}")


def packages() -> Iterator[Check]:
    """Check the versions of the packages that Streamlets requires."""
    unfit = list(_unfit(importlib.metadata.requires("streamlets") or []))
    yield from unfit
    if not unfit:
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _SHOWN)
        yield Check("packages", State.OK, versions)


def _unfit(requirements: Iterable[str]) -> Iterator[Check]:
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None or match["condition"]:  # of an extra
            continue
        name, bounds = match["name"], match["bounds"].strip()
        help = f"install it: `pip install '{name}{bounds}'`"
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, State.ERROR, f"the package is not installed, expected {name}{bounds}", help)
            continue
        if not _fits(version, bounds):
            yield Check(name, State.ERROR, f"found version {version}, expected {bounds}", help)


def _fits(version: str, bounds: str) -> bool:
    """Return whether a version is within bounds such as `>=2.2,<3`."""
    return all(
        _number(version) >= _number(bound) if sign == ">=" else _number(version) < _number(bound)
        for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", bounds)
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
