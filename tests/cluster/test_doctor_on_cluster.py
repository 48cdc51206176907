"""`flow doctor --master` on a real standalone cluster: what executors have, and why a start cannot succeed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cluster.standalone import Cluster

_FLOW = str(Path(sys.executable).with_name("flow"))
_APPLICATION = """
blueprint {
  streamlets {
    lines { class = streamlets.Spout, outlets.out = "line string", parameters { cmd = [cat] } }
    archive { class = streamlets.Sink, inlets.in = "line string", parameters { to = noop } }
  }
  topics { lines { producers = [lines.out], consumers = [archive.in] } }
}
"""
_CUSTOMIZED = """
import sys, time


real = time.time
time.time = lambda: real() - 90
import importlib.util
original = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "pyarrow" else original(name, package)
"""
_MEMORY = ("flow.cluster.executor-memory=600m", "flow.cluster.start-timeout=3 minutes")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a secured cluster with two workers of a core each."""
    with Cluster(tmp_path_factory.mktemp("cluster"), workers=2, secured=True) as cluster:
        yield cluster


def _doctor(
    directory: Path, master: str, secret: str, *settings: str
) -> tuple[int, dict[str, list[Mapping[str, str]]]]:
    """Return the exit code and the checks of the cluster by subject."""
    (directory / "blueprint.conf").write_text(_APPLICATION)
    environment = os.environ | {"CLUSTER_SECRET": secret}
    command = [_FLOW, "doctor", "--master", master, "--format", "json", "flow.cluster.secret.env=CLUSTER_SECRET"]
    ended = subprocess.run([*command, *settings], cwd=directory, env=environment, capture_output=True, text=True)
    assert ended.stdout, ended.stderr
    assert secret not in ended.stdout + ended.stderr
    checks: dict[str, list[Mapping[str, str]]] = {}
    for check in json.loads(ended.stdout)["checks"]:
        checks.setdefault(check["subject"], []).append(check)
    return ended.returncode, checks


@pytest.mark.slow
def test_executors_that_have_all(cluster: Cluster, tmp_path: Path) -> None:
    """Each executor is asked; the token is deleted, and the secret is on no command line."""
    secret = cluster.settings["spark.authenticate.secret"]
    code, checks = _doctor(tmp_path, cluster.url, secret, "flow.cluster.cores-max=2", *_MEMORY)
    of_cluster = {subject: rows for subject, rows in checks.items() if "executors" in subject}
    assert {row["state"] for rows in of_cluster.values() for row in rows} == {"ok"}, of_cluster
    assert checks["executors"][0]["detail"].startswith("2 executors on ")
    assert set(of_cluster) == {
        "executors", "Python of executors", "modules of executors", "directories of executors", "clocks of executors",
    }  # fmt: skip
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blueprint.conf"]


@pytest.mark.full
def test_executors_that_differ(cluster: Cluster, tmp_path: Path) -> None:
    """Another clock is a warning, a missing package and a missing jar are errors."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "sitecustomize.py").write_text(_CUSTOMIZED)
    python_path = os.pathsep.join((str(tmp_path / "lib"), os.environ.get("PYTHONPATH", "")))
    code, checks = _doctor(
        tmp_path, cluster.url, cluster.settings["spark.authenticate.secret"], "flow.cluster.cores-max=1", *_MEMORY,
        f'flow.runtimes.spark."spark.executorEnv.PYTHONPATH"="{python_path}"',
        'flow.runtimes.spark."spark.executor.extraClassPath"="/lost/driver.jar"',
    )  # fmt: skip
    (clock,) = checks["clocks of executors"]
    assert clock["state"] == "warning" and " by " in clock["detail"]
    assert "pyarrow is not installed" in checks["Python of executors"][0]["detail"]
    assert "/lost/driver.jar does not exist" in checks["jars of executors"][0]["detail"]
    assert code == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("settings", "secret", "detail"),
    [
        ((*_MEMORY, "flow.runtimes.spark.pyspark.python=/no/such/python"), "", "/no/such/python"),
        (("flow.cluster.executor-memory=64g", "flow.cluster.start-timeout=5s"), "", "no executor within 5 seconds"),
        (_MEMORY, "another secret", "accepts connections, but not the application"),
    ],
    ids=["no Python", "no worker with so much memory", "a wrong secret"],
)
def test_a_start_that_cannot_succeed(
    cluster: Cluster, settings: tuple[str, ...], secret: str, detail: str, tmp_path: Path
) -> None:
    """One error names the reason, after a bounded time."""
    right = cluster.settings["spark.authenticate.secret"]
    code, checks = _doctor(tmp_path, cluster.url, secret or right, "flow.cluster.cores-max=1", *settings)
    errors = [check for rows in checks.values() for check in rows if check["state"] == "error"]
    assert any(detail in check["detail"] for check in errors), checks
    assert all(check["help"] for check in errors)
    assert code == 1


def test_a_master_that_was_never_there(tmp_path: Path) -> None:
    """Without Spark having been started."""
    code, checks = _doctor(tmp_path, "spark://127.0.0.1:1", "secret 123", "flow.cluster.start-timeout=0s")
    assert checks["cluster"][0]["detail"].startswith(
        "the master `spark://127.0.0.1:1` does not answer within 0 seconds"
    )
    assert code == 1
