"""The default settings of Spark, on this machine and on a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streamlets.spark.settings import SessionPlan, defaults

GIB = 1024**3


def _plan(tmp_path: Path, master: str | None = None) -> SessionPlan:
    return SessionPlan("app", tmp_path / "logs", tmp_path / "tmp", master)


def test_local_defaults(tmp_path: Path) -> None:
    """A single Spark gets all cores, four attempts per task, loopback only, a quarter of the memory up to 8 GiB."""
    found = defaults(_plan(tmp_path), cores=6, memory=16 * GIB)
    assert found["spark.master"] == "local[6,4]"
    assert found["spark.driver.bindAddress"] == found["spark.driver.host"] == "127.0.0.1"
    assert found["spark.sql.shuffle.partitions"] == "6"
    assert found["spark.driver.memory"] == "4096m"
    assert found["spark.ui.enabled"] == "false"
    assert defaults(_plan(tmp_path), 6, 100 * GIB)["spark.driver.memory"] == "8192m"
    assert defaults(_plan(tmp_path, "local[3]"), 6, GIB)["spark.sql.shuffle.partitions"] == "3"


def test_a_query_uses_its_slowest_watermark(tmp_path: Path) -> None:
    """No rows of an inlet with a backlog are late, also on a cluster."""
    for master in (None, "spark://host:7077"):
        found = defaults(_plan(tmp_path, master), cores=6, memory=16 * GIB)
        assert found["spark.sql.streaming.multipleWatermarkPolicy"] == "min"


def test_several_share_the_memory(tmp_path: Path) -> None:
    """Several Sparks share half of the memory; each gets at most what it would get alone, and at least 1 GiB."""
    plan = _plan(tmp_path)
    memory = [defaults(replace(plan, sparks=n), 2, 24 * GIB)["spark.driver.memory"] for n in (1, 2, 4, 8, 40)]
    assert memory == ["6144m", "6144m", "3072m", "1536m", "1024m"]
