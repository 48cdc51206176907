"""The part in Java of planned streams: its jar is what the sources give, and each Spark that can use it has it."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from streamlets.planned import jar
from streamlets.planned.jar import JAR, SOURCES, build, planned_class_path, planned_jar, with_planned_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_the_jar_is_built_from_its_sources(spark: SparkSession, tmp_path: Path) -> None:
    """The sources give the bytes of the jar in the repository; if not, `python -m streamlets.planned.jar` builds it."""
    build(tmp_path / "built.jar", spark._jvm)
    with zipfile.ZipFile(tmp_path / "built.jar") as built, zipfile.ZipFile(JAR) as kept:
        assert built.namelist() == kept.namelist()
        assert {name: built.read(name) for name in built.namelist()} == {n: kept.read(n) for n in kept.namelist()}
    assert {path.stem for path in SOURCES.glob("*.java")} <= {Path(name).stem for name in kept.namelist()}


def test_the_driver_has_the_jar_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jar follows what the user's environment adds to the class path, which is restored."""
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/a.jar")
    with planned_class_path():
        assert os.environ["SPARK_DIST_CLASSPATH"] == os.pathsep.join(("/a.jar", str(JAR)))
    assert os.environ["SPARK_DIST_CLASSPATH"] == "/a.jar"
    monkeypatch.delenv("SPARK_DIST_CLASSPATH")
    with planned_class_path():
        assert os.environ["SPARK_DIST_CLASSPATH"] == str(JAR)
    assert "SPARK_DIST_CLASSPATH" not in os.environ


@pytest.mark.spark
def test_the_jar_is_the_last_entry(spark: SparkSession) -> None:
    """So an archive of classes fits that was made without it."""
    jvm: Any = spark._jvm
    assert jvm.java.lang.System.getProperty("java.class.path").split(":")[-1] == str(JAR)


def test_executors_get_the_jar_after_the_jars_of_the_user() -> None:
    """On one machine there are no other processes that need it."""
    settings = with_planned_jar({"spark.master": "spark://h:7077", "spark.jars": "/b.jar"})
    assert settings["spark.jars"] == f"/b.jar,{JAR}"
    assert "spark.jars" not in with_planned_jar({"spark.master": "local[2]"})


def test_another_spark_does_without_the_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interfaces of another Spark may differ, so topics are read in Python there."""
    assert planned_jar() == JAR
    monkeypatch.setattr(jar, "SPARK", "99.")
    assert planned_jar() is None
    assert with_planned_jar({"spark.master": "spark://h:7077"}) == {"spark.master": "spark://h:7077"}
    assert pyspark.__version__.startswith("4.")
