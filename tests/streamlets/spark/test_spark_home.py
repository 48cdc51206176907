"""Python workers import the installed pyspark, not Spark's zip of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.spark.spark_home import without_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_home_without_the_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the context, the home has Spark's jars and scripts, but not its zipped Python."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    for _ in range(2):  # a second run on the same scratch folder
        with without_zip(tmp_path):
            home = Path(os.environ["SPARK_HOME"])
            assert (home / "bin" / "spark-submit").is_file()
            assert list((home / "jars").glob("spark-core*.jar"))
            assert not (home / "python").exists()
        assert "SPARK_HOME" not in os.environ


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
