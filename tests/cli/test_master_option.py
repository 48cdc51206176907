"""`--master` overrides the setting of the master, for `flow verify`, `flow run` and `flow doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Flow

_BLUEPRINT = """
blueprint {
  streamlets {
    lines { class = streamlets.Spout, outlets.out = "line string", parameters { cmd = [cat] } }
    archive { class = streamlets.Sink, inlets.in = "line string", parameters { to = noop } }
  }
  topics { lines { producers = [lines.out], consumers = [archive.in] } }
}
flow.cluster.master = "spark://big.example:7077"
"""


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of an application for a cluster on the network, which is also the working directory."""
    (tmp_path / "blueprint.conf").write_text(_BLUEPRINT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _codes(flow: Flow, *arguments: str) -> set[str]:
    findings = json.loads(flow("verify", "--format", "json", *arguments).out)["diagnostics"]
    return {finding["code"] for finding in findings}


def test_what_a_cluster_needs_is_not_needed_here(flow: Flow, application: Path) -> None:
    """The application of a cluster is verified for a master of this machine."""
    assert {"driver-address", "cluster-open", "cluster-path"} <= _codes(flow)
    assert _codes(flow, "--master", "local[2]") == set()
    assert _codes(flow, "--master", "spark://127.0.0.1:7077") == set()


def test_a_run_that_cannot_work_is_refused_before_spark_starts(flow: Flow, application: Path) -> None:
    """With the finding that `flow verify` has."""
    refused = flow("run")
    assert refused.code == 2
    assert "error[driver-address]" in refused.out + refused.err


@pytest.mark.parametrize("command", ["verify", "run", "doctor"])
def test_a_master_that_spark_does_not_have(flow: Flow, application: Path, command: str) -> None:
    """It is a finding, and no exception of Spark; `flow doctor` refers to `flow verify`."""
    refused = flow(command, "--master", "mesos://zk:5050")
    assert refused.code != 0
    assert ("setting-type" if command != "doctor" else "`flow verify` reports 1 error") in refused.out + refused.err


def test_doctor_needs_an_application_for_a_master(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings say how executors reach the driver."""
    monkeypatch.chdir(tmp_path)
    refused = flow("doctor", "--master", "spark://127.0.0.1:7077")
    assert refused.code == 2
    assert "--master needs an application" in refused.err
