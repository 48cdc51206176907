"""The settings of Spark on clusters, for each kind of master, and the secret of a cluster."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.core_settings import ClusterSettings, SecretPlace
from blueprint.masters import DEFAULTS, KINDS, Default, Kind, master_of
from blueprint.quantities import memory_size
from streamlets.spark.auth_secret import require_secret, secret_settings
from streamlets.spark.cluster_settings import environment_settings
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan, defaults

_URLS: dict[Kind, str] = {
    "local": "local[2,4]",
    "standalone": "spark://big:7077",
    "kubernetes": "k8s://https://big:6443",
    "yarn": "yarn",
}
_NOTHING_SET = ClusterSettings()
_CLUSTERS: tuple[Kind, ...] = ("standalone", "kubernetes", "yarn")
_VALUES = {
    "driver_host": "runner", "driver_bind_address": "0.0.0.0", "driver_port": 4040, "block_manager_port": 4041,
    "authenticate": True, "encrypt": False, "cores_max": 7, "executors": 3, "executor_cores": 2,
    "executor_memory": memory_size("3 GiB"), "task_failures": 9, "shuffle_partitions": 5,
    "driver_memory": memory_size("2 GiB"),
}  # fmt: skip
"""A value for each setting that sets a setting of Spark by itself."""


def _settings(url: str, cluster: ClusterSettings = _NOTHING_SET, spark: dict[str, str] | None = None) -> dict[str, str]:
    plan = SessionPlan("app", Path("logs"), Path("tmp"), url, ("/app",), spark or {}, cluster=cluster)
    return defaults(plan, 6, 16 * 1024**3) | dict(plan.settings)


def test_the_table_has_a_row_for_each_setting() -> None:
    """A new setting of the cluster has a row of defaults, unless its default is the same for all masters."""
    same = {"master", "secret", "shared"}
    assert {row.field for row in DEFAULTS} | same == {field.name for field in fields(ClusterSettings)}
    assert set(_URLS) == set(KINDS)


@pytest.mark.parametrize("kind", _CLUSTERS)
@pytest.mark.parametrize(
    "row", [row for row in DEFAULTS if row.spark and row.field in _VALUES], ids=lambda row: row.field
)
def test_each_setting_reaches_spark(kind: Kind, row: Default) -> None:
    """A value replaces the default of every kind of cluster; without one, the table's default is Spark's value."""
    expected = {"executor_memory": "3072m", "driver_memory": "2048m", "authenticate": "true", "encrypt": "false"}
    values: dict[str, Any] = {row.field: _VALUES[row.field]}
    set_here = _settings(_URLS[kind], replace(_NOTHING_SET, **values))
    default = _settings(_URLS[kind])
    for name in row.spark:
        if row.shown(kind) and (row.field, kind) != ("executors", "standalone"):
            assert set_here[name] == expected.get(row.field, str(_VALUES[row.field]))
        if row.values.get(kind):
            assert default[name] == row.values[kind]


def test_defaults_of_each_kind() -> None:
    """The driver listens where executors reach it; partitions follow the cores, as a checkpoint keeps their number."""
    host = ClusterSettings(driver_host="10.0.0.5")
    standalone, kubernetes, yarn = (_settings(_URLS[kind], host) for kind in _CLUSTERS)
    assert {standalone["spark.driver.bindAddress"], yarn["spark.driver.bindAddress"]} == {"10.0.0.5"}
    assert kubernetes["spark.driver.bindAddress"] == "0.0.0.0"
    assert [found["spark.sql.shuffle.partitions"] for found in (standalone, kubernetes, yarn)] == ["16", "2", "2"]
    assert [found["spark.authenticate"] for found in (standalone, kubernetes, yarn)] == ["false", "true", "true"]
    assert [found["spark.io.encryption.enabled"] for found in (standalone, kubernetes, yarn)] == [
        "false",
        "true",
        "true",
    ]
    assert "spark.cores.max" not in standalone and "spark.executor.instances" not in standalone
    assert ["spark.executorEnv.PYTHONPATH" in found for found in (standalone, kubernetes, yarn)] == [True, False, False]


@pytest.mark.parametrize(
    ("settings", "cores"),
    [({}, None), ({"cores_max": 3}, 3), ({"executors": 3, "executor_cores": 2}, 6), ({"executors": 3}, None)],
)
def test_partitions_of_a_standalone_cluster(settings: dict[str, int], cores: int | None) -> None:
    """They are the cores that the settings allow, at most 16; the number of executors becomes a number of cores."""
    found = _settings("spark://127.0.0.1:7077", ClusterSettings(**settings))  # type: ignore[arg-type]
    assert found["spark.sql.shuffle.partitions"] == str(cores or 16)
    assert found.get("spark.cores.max") == (str(cores) if cores else None)


def test_a_master_on_loopback_keeps_everything_there() -> None:
    """Without an address, the driver of such a master listens on loopback only."""
    for url in ("spark://127.0.0.1:7077", "spark://localhost:7077", "k8s://https://127.0.0.1:6443"):
        found = _settings(url)
        assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"


def test_a_secret_turns_authentication_and_encryption_on() -> None:
    """A standalone cluster with a secret is authenticated, and connections and temporary files are encrypted."""
    found = _settings(_URLS["standalone"], ClusterSettings(secret=SecretPlace(env="X")))
    names = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")
    assert [found[name] for name in names] == ["true"] * 3
    assert not [name for name in found if name.endswith("secret")]


def test_settings_of_spark_take_precedence() -> None:
    """Also for the master: its kind decides the defaults."""
    found = _settings(
        "local[1]", ClusterSettings(executor_memory=memory_size("1 GiB")), {"spark.master": "spark://h:7077"}
    )
    assert found["spark.master"] == "spark://h:7077" and found["spark.executor.memory"] == "1024m"
    assert _settings(_URLS["yarn"], spark={"spark.executor.memory": "9g"})["spark.executor.memory"] == "9g"


def test_on_this_machine_only_memory_and_partitions_count() -> None:
    """Settings for a cluster do not change a run without one, except for what a checkpoint keeps."""
    cluster = ClusterSettings(**_VALUES)  # type: ignore[arg-type]
    found, plain = _settings("local[2]", cluster), _settings("local[2]")
    assert {name for name in found if found[name] != plain.get(name)} == {
        "spark.driver.memory", "spark.sql.shuffle.partitions",
    }  # fmt: skip


@pytest.mark.parametrize("url", ["mesos://h", "spark://h", "spark://", "k8s://ftp://h", "k8s://", "local[x]", ""])
def test_an_unknown_master_is_refused(url: str) -> None:
    """The message names the forms of masters."""
    with pytest.raises(SessionError, match="invalid Spark master") as refused:
        _settings("local", spark={"spark.master": url or " "})
    assert "spark://HOST:PORT" in refused.value.help


def test_masters() -> None:
    """Several standalone masters are one cluster; it is on loopback if all of them are."""
    assert master_of("spark://a:1,b:2").addresses == (("a", 1), ("b", 2))
    assert master_of("spark://[::1]:7077").on_loopback
    assert not master_of("spark://127.0.0.1:1,b:2").on_loopback
    assert master_of("k8s://h").addresses == (("h", 443),) and not master_of("yarn").on_loopback


def test_an_environment_is_found_by_the_path_of_executors(tmp_path: Path) -> None:
    """The driver and the executors run the same command, which is another Python in executors."""
    archive = tmp_path / "env.tar.gz"
    with pytest.raises(SessionError, match="the file does not exist"):
        environment_settings(str(archive))
    archive.touch()
    found = environment_settings(str(archive))
    assert found["spark.archives"] == f"{archive}#environment"
    # The driver does not have the first directory, and must not find another Python of this machine.
    assert found["spark.executorEnv.PATH"].startswith(f"./environment/bin:{Path(sys.executable).parent}:")
    assert found["spark.pyspark.python"] == "python3"
    assert environment_settings(None) == {}


def test_the_secret_comes_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line end at the end of the file is not part of it."""
    monkeypatch.setenv("CLUSTER", "opensesame")
    (tmp_path / "secret").write_text("opensesame\n")
    places = (SecretPlace(env="CLUSTER"), SecretPlace(file=str(tmp_path / "secret")))
    found = [secret_settings(ClusterSettings(secret=place)) for place in places]
    assert found == [{"spark.authenticate.secret": "opensesame"}] * 2
    assert secret_settings(ClusterSettings()) == {}


@pytest.mark.parametrize("place", ["unset", "absent", "empty", "binary"])
def test_a_secret_that_is_not_there(place: str, tmp_path: Path) -> None:
    """The message names the place, and the setting that names it."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    secret = SecretPlace(env="NO_SUCH_VARIABLE") if place == "unset" else SecretPlace(file=str(tmp_path / place))
    with pytest.raises(SessionError, match=r"flow\.cluster\.secret") as refused:
        secret_settings(ClusterSettings(secret=secret))
    assert refused.value.help


def test_a_standalone_cluster_with_authentication_needs_a_secret() -> None:
    """Elsewhere Spark makes it."""
    for url in _URLS.values():
        settings = {"spark.master": url, "spark.authenticate": "true"}
        if url.startswith("spark:"):
            with pytest.raises(SessionError, match="the secret of the cluster is not"):
                require_secret(settings)
        else:
            require_secret(settings)
        require_secret(settings | {"spark.authenticate.secret": "x"})
        require_secret(settings | {"spark.authenticate": "false"})
