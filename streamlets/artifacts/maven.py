"""Java artifacts from a Maven repository: fetched once into a cache, by the Apache Ivy that comes with PySpark.

Ivy verifies checksums, keeps what it has fetched when it is interrupted, and knows mirrors and credentials from its
settings file. It needs Java and PySpark's files, but not PySpark itself.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from streamlets.artifacts.java import INSTALL_JAVA, NoJavaError, java_command
from streamlets.ownership import NotTrustedError, require_trusted

_FORM = re.compile(r"[^:\s]+:[^:\s]+:[^:\s]+")
# Seconds for all downloads, and milliseconds for a single answer of the repository.
_PATIENCE = 1800.0
_ANSWER_TIMEOUT = 60_000
_JAR = re.compile(r"(?P<name>.+)-(?P<version>\d+(\.[A-Za-z\d]+)*(-[A-Za-z][\w.]*)*)")
_UNREACHABLE = re.compile(r"Server access error.*?\((.*)\)|Host (\S+) not found")
_MISSING = re.compile(r"^\t\t:: (\S+)#(\S+);(\S+?): (.+)$", re.MULTILINE)


class ArtifactError(Exception):
    """Artifacts cannot be had; `help` is what to do about it, `setting` the setting of `flow.spark` that is wrong."""

    def __init__(self, message: str, help: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.help = help
        self.setting = setting


class RepositoryUnreachableError(ArtifactError):
    """The Maven repository does not answer."""


class UnknownArtifactError(ArtifactError):
    """The Maven repository does not have an artifact of these coordinates."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The name of an artifact in a Maven repository."""

    group: str
    artifact: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        """Return the coordinate written as `group:artifact:version`.

        Raises:
            ValueError: the string has another form.
        """
        if not _FORM.fullmatch(text):
            raise ValueError(f"invalid Maven coordinate `{text}`: expected `group:artifact:version`")
        return cls(*text.split(":"))

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


def fetch(
    packages: Sequence[Coordinate],
    *,
    provided: Iterable[str] = (),
    cache: Path | None = None,
    ivy_settings: Path | None = None,
) -> tuple[Path, ...]:
    """Return the jars of packages and their dependencies, from the cache or else from the repository.

    A listed package has the listed version, whichever version the others depend on.

    Arguments:
        packages: the packages.
        provided: names of artifacts, without versions, that are already on the class path.
        cache: the cache's directory; None for the user's.
        ivy_settings: Ivy's settings file, for repositories other than Maven Central.

    Raises:
        ArtifactError: the artifacts are not in the cache and cannot be fetched.
    """
    cache = cache or cache_directory()
    _require_own(cache)
    module = _module(packages, provided)
    jars = _directory(module, cache)
    if not jars.is_dir():
        jars.parent.mkdir(parents=True, exist_ok=True)
        with (cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not jars.is_dir():
                _retrieve(module, jars, cache, ivy_settings)
    return tuple(sorted(jars.glob("*.jar")))


def cached(
    packages: Sequence[Coordinate], *, provided: Iterable[str] = (), cache: Path | None = None
) -> tuple[Path, ...] | None:
    """Return the result of `fetch` if it is in the cache; None otherwise."""
    cache = cache or cache_directory()
    _require_own(cache)
    jars = _directory(_module(packages, provided), cache)
    return tuple(sorted(jars.glob("*.jar"))) if jars.is_dir() else None


def _require_own(cache: Path) -> None:
    """Require that nobody else can replace the jars in a cache, whose code a run executes.

    Raises:
        ArtifactError: another user can.
    """
    try:
        require_trusted(cache)
    except NotTrustedError as error:
        raise ArtifactError(
            f"the cache of jars {cache} is not safe to use: {error}",
            "set `XDG_CACHE_HOME` to a directory of your own, or correct the owner and the mode",
        ) from None


def _directory(module: str, cache: Path) -> Path:
    """Return the directory in the cache for the jars of a module, which exists only when it is complete."""
    return cache / "jars" / hashlib.sha256(module.encode()).hexdigest()[:16]


def cache_directory() -> Path:
    """Return the directory in which artifacts are kept for this user: `$XDG_CACHE_HOME/streamlets`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamlets"


def spark_jars() -> dict[str, str]:
    """Return the versions of the artifacts that are part of PySpark, by their names."""
    return dict(map(name_and_version, (_pyspark() / "jars").glob("*.jar")))


def name_and_version(jar: Path) -> tuple[str, str]:
    """Return the artifact and the version in the name of a jar; the version is empty if there is none."""
    match = _JAR.fullmatch(jar.stem)
    return (match["name"], match["version"]) if match else (jar.stem, "")


def _pyspark() -> Path:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _module(packages: Sequence[Coordinate], provided: Iterable[str]) -> str:
    """Return Ivy's description of a module that depends on the packages."""
    module = Element("ivy-module", version="2.0")
    SubElement(module, "info", organisation="streamlets", module="artifacts")
    SubElement(SubElement(module, "configurations"), "conf", name="default")
    dependencies = SubElement(module, "dependencies", defaultconf="default->default")
    for package in packages:
        SubElement(dependencies, "dependency", org=package.group, name=package.artifact, rev=package.version)
    for name in sorted(set(provided)):
        SubElement(dependencies, "exclude", module=name, matcher="exact")
    for package in packages:
        version = {"matcher": "exact", "rev": package.version}
        SubElement(dependencies, "override", {"org": package.group, "module": package.artifact} | version)
    return tostring(module, encoding="unicode")


def _retrieve(module: str, jars: Path, cache: Path, ivy_settings: Path | None) -> None:
    """Fetch the jars of a module into a directory."""
    try:
        java = java_command()
    except NoJavaError as error:
        raise ArtifactError(f"fetching artifacts needs Java: {error}", INSTALL_JAVA) from None
    incomplete = jars.with_name(f".{jars.name}")
    shutil.rmtree(incomplete, ignore_errors=True)
    incomplete.mkdir()
    description = incomplete / "ivy.xml"
    description.write_text(module, encoding="utf-8")
    ivy = next((_pyspark() / "jars").glob("ivy-*.jar"))
    command = [
        *(java, "-XX:TieredStopAtLevel=1"),
        f"-Dsun.net.client.defaultConnectTimeout={_ANSWER_TIMEOUT}",
        f"-Dsun.net.client.defaultReadTimeout={_ANSWER_TIMEOUT}",
        *("-jar", str(ivy), "-warn", "-m2compatible", "-cache", str(cache / "ivy"), "-ivy", str(description)),
        *("-confs", "default", "-types", "jar", "bundle"),
        *("-retrieve", f"{incomplete}/[artifact]-[revision](-[classifier]).[ext]"),
        *(() if ivy_settings is None else ("-settings", str(ivy_settings))),
    ]
    try:
        ivy_run = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        raise _unreachable(f"the download was not complete after {_PATIENCE / 60:.0f} minutes") from None
    if ivy_run.returncode != 0:
        raise _failure(ivy_run.stdout + ivy_run.stderr)
    incomplete.rename(jars)


def _failure(log: str) -> ArtifactError:
    """Return why Ivy failed, from what it printed."""
    if refused := _UNREACHABLE.search(log):
        return _unreachable(refused[1] or f"host {refused[2]} not found")
    missing = {f"{group}:{artifact}:{version}" for group, artifact, version, _ in _MISSING.findall(log)}
    if missing:
        return UnknownArtifactError(
            f"the Maven repository does not have {', '.join(sorted(missing))}",
            "correct the coordinates in `flow.spark.packages`, or name the repository that has them in the settings "
            "file of `flow.runtimes.spark.jars.ivySettings`",
        )
    return ArtifactError(
        f"Apache Ivy could not fetch artifacts: {log.strip()[-500:]}",
        "see the message of Ivy, or list the jars in `flow.spark.jars`",
    )


def _unreachable(reason: str) -> RepositoryUnreachableError:
    return RepositoryUnreachableError(
        f"the Maven repository cannot be reached: {reason}",
        "run this again on a machine with network access, or copy the jars to this one and name their directory in "
        "`flow.spark.jars`",
    )
