"""Isolated drivers share the cores of a standalone cluster, of which the first one would take all."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.core_settings import ClusterSettings
from streamlets.runner.drivers.launchers import cluster_shares
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan, defaults

_STANDALONE = "spark://127.0.0.1:7077"


def _sessions(
    number: int, cluster: ClusterSettings, master: str | None = _STANDALONE, **own: dict[str, str]
) -> dict[str, SessionPlan]:
    names = [chr(ord("a") + index) for index in range(number)]
    return {
        name: SessionPlan(name, Path(), Path(), master, settings=own.get(name, {}), cluster=cluster) for name in names
    }


@pytest.mark.parametrize(("cores", "shares"), [(3, [1, 1, 1]), (4, [2, 1, 1]), (8, [3, 3, 2])])
def test_each_driver_has_its_share(cores: int, shares: list[int]) -> None:
    """The first ones have the remaining cores; a driver alone has all."""
    cluster = ClusterSettings(cores_max=cores)
    shared = cluster_shares(_sessions(3, cluster))
    assert [shared[name].cores_max for name in shared] == shares
    assert cluster_shares(_sessions(1, cluster))["a"].cores_max == cores


def test_a_share_is_the_limit_of_a_driver() -> None:
    """Its shuffles have as many partitions."""
    sessions = _sessions(2, ClusterSettings(executors=2, executor_cores=3))
    shared = cluster_shares(sessions)
    found = defaults(SessionPlan("a", Path(), Path(), _STANDALONE, cluster=shared["a"]), 1, 1 << 33)
    assert (found["spark.cores.max"], found["spark.sql.shuffle.partitions"]) == ("3", "3")


@pytest.mark.parametrize("cores", [None, 1, 2])
def test_too_few_cores_are_refused(cores: int | None) -> None:
    """A driver would wait for ever; `flow verify` reports the same."""
    with pytest.raises(SessionError, match="3 drivers share") as refused:
        cluster_shares(_sessions(3, ClusterSettings(cores_max=cores)))
    assert "cores-max" in refused.value.help


@pytest.mark.parametrize("master", [None, "local[2]", "yarn", "k8s://https://127.0.0.1:6443"])
def test_elsewhere_nothing_is_shared(master: str | None) -> None:
    """Kubernetes and YARN give each driver executors of its own, as many as the settings say."""
    cluster = ClusterSettings(cores_max=1)
    assert set(cluster_shares(_sessions(3, cluster, master)).values()) == {cluster}


def test_a_driver_with_a_limit_of_its_own_shares_nothing() -> None:
    """Settings of Spark take precedence, also those of one group."""
    sessions = _sessions(3, ClusterSettings(cores_max=2), b={"spark.cores.max": "7"})
    shared = cluster_shares(sessions)
    assert [shared[name].cores_max for name in ("a", "c")] == [1, 1]
