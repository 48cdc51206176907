"""The cluster of tests: its secret is in no command line, and it ends with the process that started it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.processes import command_line, left_behind
from tests.cluster.standalone import Cluster, processes_below

_REPOSITORY = Path(__file__).parents[2]


@pytest.mark.full
def test_a_secured_cluster_has_its_secret_in_no_command_line_and_recovers_its_workers(tmp_path: Path) -> None:
    """A master that is started again knows its worker at once, and no process shows the secret."""
    with Cluster(tmp_path / "cluster", secured=True, recovery=True) as cluster:
        secret = cluster.settings["spark.authenticate.secret"]
        processes = processes_below(cluster.directory)
        assert len(processes) == 2
        assert not any(secret in command_line(process) for process in processes)
        (worker,) = (known["id"] for known in cluster.alive_workers())
        cluster.kill_master()
        cluster.start_master()
        cluster.wait_for_workers(1)
        assert [known["id"] for known in cluster.alive_workers()] == [worker]
    assert not left_behind(processes)


@pytest.mark.slow
def test_a_killed_owner_leaves_no_process_of_its_cluster(tmp_path: Path) -> None:
    """The keeper kills master and workers when the process that started them was killed."""
    owner = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.standalone", "1"],
        cwd=_REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert owner.stdout is not None
    directory = re.search(r"files in (.+)", owner.stdout.readline())
    assert directory is not None
    processes = processes_below(Path(directory[1]))
    assert len(processes) == 2
    owner.kill()
    owner.wait()
    assert not left_behind(processes)
    shutil.rmtree(directory[1])
