"""Python workers import the installed pyspark, not Spark's zip of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.spark.class_archive import archive_of
from streamlets.spark.spark_home import delete_stale_homes, installed_home, without_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_home_without_the_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the context, the home has Spark's jars and scripts, but not its zipped Python. It is the same in each run."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):
        with without_zip(tmp_path) as home:
            assert home == installed_home() == Path(os.environ["SPARK_HOME"])
            assert (home / "bin" / "spark-submit").is_file()
            assert list((home / "jars").glob("spark-core*.jar"))
            assert not (home / "python" / "lib" / "pyspark.zip").is_file()
        assert "SPARK_HOME" not in os.environ


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home is then in the directory of the run."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    (tmp_path / "cache").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with without_zip(tmp_path / "run") as home:
        assert home == tmp_path / "run" / "spark-home"
        assert (home / "bin" / "spark-submit").is_file()


def test_homes_of_removed_environments_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home whose links lead nowhere is deleted with its archive; that of an installed PySpark is kept."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with without_zip(tmp_path) as home:
        assert home is not None
    removed = home.with_name("removed")
    removed.mkdir()
    (removed / "jars").symlink_to(tmp_path / "no-environment" / "jars")
    archive_of(removed).touch()
    delete_stale_homes()
    assert [path.name for path in home.parent.iterdir()] == [home.name]


def test_an_existing_spark_home_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark that the user has chosen is used."""
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with without_zip(tmp_path):
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"


@pytest.mark.spark
def test_workers_import_what_is_installed(spark: SparkSession) -> None:
    """A function in a worker imports pyspark from a package with compiled files."""
    from pyspark.sql import functions as F

    @F.udf("string")
    def place() -> str:
        import pyspark

        return str(pyspark.__file__)

    row = spark.range(1).select(place().alias("place")).first()
    assert row is not None
    assert ".zip" not in row.place
