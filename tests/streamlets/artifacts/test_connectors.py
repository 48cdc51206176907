"""The jars of a Spark: the best set of packages that can be had, replaced by what the settings name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blueprint.catalog import Connector, SparkArtifacts
from streamlets.artifacts.connectors import available_jars_of, jars_of
from streamlets.artifacts.maven import ArtifactError, UnknownArtifactError, spark_jars
from streamlets.channels.kafka.connector import CONNECTOR
from tests.streamlets.artifacts.maven_repository import Repository

needs_java = pytest.mark.spark
VERSION = spark_jars()["spark-core_2.13"]
BUS = Connector((("org.example:bus:{spark}",), ("org.example:bus:1.0", "org.example:codec:1.0")), ("bus", "codec"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    repository = Repository(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return repository


def _names(jars: tuple[Path, ...] | None) -> list[str] | None:
    return None if jars is None else sorted(jar.name for jar in jars)


@needs_java
def test_the_version_of_pyspark_comes_first(repository: Repository) -> None:
    """A connector has the version of PySpark if the repository has it."""
    repository.add(f"org.example:bus:{VERSION}")
    artifacts = SparkArtifacts(ivy_settings=str(repository.settings))
    assert available_jars_of([BUS], artifacts) is None
    assert _names(jars_of([BUS], artifacts)) == [f"bus-{VERSION}.jar"]
    assert _names(available_jars_of([BUS], artifacts)) == [f"bus-{VERSION}.jar"]


@needs_java
def test_an_older_set_where_the_newest_is_missing(repository: Repository) -> None:
    """The set that was found stays, also when the repository no longer answers."""
    repository.add("org.example:bus:1.0")
    repository.add("org.example:codec:1.0")
    artifacts = SparkArtifacts(ivy_settings=str(repository.settings))
    assert _names(jars_of([BUS], artifacts)) == ["bus-1.0.jar", "codec-1.0.jar"]
    repository.use("file:///does-not-exist")
    assert _names(jars_of([BUS], artifacts)) == ["bus-1.0.jar", "codec-1.0.jar"]


@needs_java
def test_packages_of_the_settings(repository: Repository) -> None:
    """They replace those of the connector, and others are added."""
    repository.add("org.example:bus:2.0")
    repository.add("org.example:lake:3.0")
    artifacts = SparkArtifacts(("org.example:bus:2.0", "org.example:lake:3.0"), ivy_settings=str(repository.settings))
    assert _names(jars_of([BUS], artifacts)) == ["bus-2.0.jar", "lake-3.0.jar"]


@needs_java
def test_a_connector_that_is_nowhere(repository: Repository) -> None:
    """The error names the version of PySpark, which is the one to look for."""
    repository.files.mkdir()
    with pytest.raises(UnknownArtifactError, match=rf"org\.example:bus:{re.escape(VERSION)}"):
        jars_of([BUS], SparkArtifacts(ivy_settings=str(repository.settings)))


def test_jars_of_a_directory(tmp_path: Path) -> None:
    """With the connector's jars in a directory, nothing is fetched."""
    for name in ("bus-1.0.jar", "codec.jar", "other-2.1.jar", "notes.txt"):
        (tmp_path / name).touch()
    artifacts = SparkArtifacts(jars=(str(tmp_path),))
    assert _names(available_jars_of([BUS], artifacts)) == ["bus-1.0.jar", "codec.jar", "other-2.1.jar"]


@pytest.mark.parametrize(
    ("jars", "message"),
    [
        (["bus-1.0.jar"], "only some of the jars of a connector; codec are missing"),
        ([], "the directory has no jars"),
    ],
)
def test_an_incomplete_directory(tmp_path: Path, jars: list[str], message: str) -> None:
    """A part of a connector would fail in the middle of a run."""
    for name in jars:
        (tmp_path / name).touch()
    with pytest.raises(ArtifactError, match=message):
        available_jars_of([BUS], SparkArtifacts(jars=(str(tmp_path),)))


def test_mistakes_in_settings(tmp_path: Path) -> None:
    """A jar that does not exist and a wrong coordinate are errors with their names."""
    with pytest.raises(ArtifactError, match=r"lost\.jar, but the file does not exist"):
        jars_of([], SparkArtifacts(jars=(str(tmp_path / "lost.jar"),)))
    with pytest.raises(ArtifactError, match="invalid Maven coordinate `bus`"):
        jars_of([], SparkArtifacts(("bus",)))


def test_no_connector_and_no_settings_need_nothing() -> None:
    """Applications with other channels get no jars, and need no network."""
    assert jars_of([], SparkArtifacts()) == ()


def test_spark_has_none_of_the_jars_of_kafka() -> None:
    """The names in `Connector.jars` are complete only as long as Spark does not have some of them itself."""
    assert not set(CONNECTOR.jars) & set(spark_jars())
