"""The archive of Java's classes: when it is used, and that Java accepts it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from streamlets.spark.class_archive import archive_of, archive_options
from streamlets.spark.spark_home import installed_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_archive_is_used_if_there_is_one(tmp_path: Path) -> None:
    """Without an archive, or with a home that is not ours, Java has no such option."""
    assert archive_options(None) == archive_options(tmp_path) == ()
    archive_of(tmp_path).touch()
    assert archive_options(tmp_path, ["-Xmx1g"])[0] == f"-XX:SharedArchiveFile={archive_of(tmp_path)}"


@pytest.mark.parametrize("option", ["-Xshare:off", "-XX:SharedArchiveFile=mine", "-XX:ArchiveClassesAtExit=mine"])
def test_options_of_the_user_win(tmp_path: Path, option: str) -> None:
    """A user who has options about archives gets none of ours."""
    archive_of(tmp_path).touch()
    assert archive_options(tmp_path, ["-Xmx1g", option]) == ()


@pytest.mark.spark
def test_java_accepts_the_archive(spark: SparkSession) -> None:
    """The archive that `make test` has prepared fits: Java keeps it in memory."""
    archive = archive_of(installed_home())
    if not archive.exists():
        pytest.skip("`flow doctor --prepare` has not run in this environment")
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    maps = psutil.Process(gateway.proc.pid).memory_maps()
    assert str(archive) in {map.path for map in maps}
