"""Artifacts are fetched from a Maven repository once, with their dependencies, and never half."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from streamlets.artifacts.maven import (
    ArtifactError,
    Coordinate,
    RepositoryUnreachableError,
    UnknownArtifactError,
    name_and_version,
    spark_jars,
)
from tests.streamlets.artifacts.maven_repository import Repository

needs_java = pytest.mark.spark


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.parametrize("text", ["", "kafka", "org.apache:kafka", "a:b:c:d", "a::c", "a:b: c"])
def test_a_coordinate_has_three_parts(text: str) -> None:
    """Anything else is refused with the form that is expected."""
    with pytest.raises(ValueError, match=r"expected `group:artifact:version`"):
        Coordinate.parse(text)


@needs_java
def test_packages_come_with_their_dependencies(repository: Repository) -> None:
    """Dependencies are fetched, too, except those that are on the class path already."""
    repository.add("org.example:connector:2.0", "org.example:client:1.0", "org.example:core:2.0")
    repository.add("org.example:client:1.0", "org.example:codec:1.5")
    repository.add("org.example:codec:1.5")
    jars = repository.fetch("org.example:connector:2.0", provided=("core",))
    assert jars == ["client-1.0.jar", "codec-1.5.jar", "connector-2.0.jar"]


@needs_java
def test_a_listed_version_wins(repository: Repository) -> None:
    """A package that is listed replaces the version that others depend on, also if the repository lacks that one."""
    repository.add("org.example:connector:2.0", "org.example:client:2.0")
    repository.add("org.example:client:1.0")
    assert repository.fetch("org.example:connector:2.0", "org.example:client:1.0") == [
        "client-1.0.jar",
        "connector-2.0.jar",
    ]


@needs_java
def test_what_was_fetched_stays(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call needs neither the repository nor Java."""
    repository.add("org.example:client:1.0").rename(repository.files / "moved.jar")
    with pytest.raises(ArtifactError):
        repository.fetch("org.example:client:1.0")  # incomplete: not kept
    (repository.files / "moved.jar").rename(repository.files / "org/example/client/1.0/client-1.0.jar")
    assert repository.fetch("org.example:client:1.0") == ["client-1.0.jar"]
    repository.use("file:///does-not-exist")
    monkeypatch.setenv("JAVA_HOME", "/does-not-exist")
    assert repository.fetch("org.example:client:1.0") == ["client-1.0.jar"]


@needs_java
def test_damaged_jars_are_refused(repository: Repository) -> None:
    """A jar that differs from its checksum is not used."""
    repository.add("org.example:client:1.0").write_bytes(b"something else")
    with pytest.raises(ArtifactError, match="client"):
        repository.fetch("org.example:client:1.0")
    assert not list(repository.cache.glob("jars/*/*.jar"))


@needs_java
def test_an_unknown_version_is_named(repository: Repository) -> None:
    """The error has the coordinates that the repository lacks."""
    repository.add("org.example:client:1.0")
    with pytest.raises(UnknownArtifactError, match=r"does not have org\.example:client:1\.1$"):
        repository.fetch("org.example:client:1.1")


@needs_java
def test_a_repository_that_does_not_answer(repository: Repository) -> None:
    """The error differs from that of an unknown artifact, and says why."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # no one listens here
        repository.use(f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(RepositoryUnreachableError, match="Connection refused"):
            repository.fetch("org.example:client:1.0")


@pytest.mark.parametrize(
    ("jar", "name", "version"),
    [
        ("spark-sql-kafka-0-10_2.13-4.2.0", "spark-sql-kafka-0-10_2.13", "4.2.0"),
        ("spark-sql-kafka-0-10_2.13", "spark-sql-kafka-0-10_2.13", ""),
        ("log4j-1.2-api-2.24.3", "log4j-1.2-api", "2.24.3"),
        ("guava-33.4.0-jre", "guava", "33.4.0-jre"),
        ("netty-transport-4.1.1.Final-linux-x86_64", "netty-transport", "4.1.1.Final-linux-x86_64"),
        ("javax.inject-1", "javax.inject", "1"),
        ("mine", "mine", ""),
    ],
)
def test_names_of_jars(jar: str, name: str, version: str) -> None:
    """The version is what follows the last hyphen and digit; names may have digits, too."""
    assert name_and_version(Path(f"/lib/{jar}.jar")) == (name, version)


def test_the_jars_of_spark() -> None:
    """Their names have no version, whatever the version looks like."""
    jars = spark_jars()
    assert jars["spark-core_2.13"].startswith("4.")
    assert {"hadoop-client-runtime", "log4j-1.2-api"} < jars.keys()
    assert all(jars.values()), "each of them has a version"
    assert "hadoop-client-runtime" in jars and "commons-pool2" not in jars
