"""Supervised runs on the example channels, without Spark: a run that is killed in a commit is continued, and commands
show its topic. `python -m benchmarks.kills sqlite` and `redis` kill queries on them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streamlets.storage.crash import VARIABLE
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.installed import installed_channel

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 300.0
MODULE = """
from streamlets import AvroOutlet, GeneratorSpout


class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="n long")

    def run(self, out, resume):
        for n in range(resume or 0, 6):
            yield out.transaction([{"n": n}], resume=n + 1)
"""
BLUEPRINT = """
blueprint {
  streamlets.numbers = counted.Numbers
  topics.numbers { producers = [numbers.out] }
}
flow { application = counted, channel = CHANNEL }
"""


@pytest.fixture(params=["sqlite", "redis"])
def application(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an application on a channel, in the working directory."""
    name: str = request.param
    installed_channel(name, tmp_path / "packages", monkeypatch)
    (tmp_path / "counted.py").write_text(MODULE)
    text = BLUEPRINT.replace("CHANNEL", name)
    if name == "redis":
        text += f'flow.redis.url = "{request.getfixturevalue("redis_server")}"\n'
        text += f'flow.topics.numbers.topic.name = "numbers-{tmp_path.name}"\n'
    (tmp_path / "blueprint.conf").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(crash_at: str = "") -> int:
    path = os.pathsep.join((str(REPOSITORY), os.environ["PYTHONPATH"]))
    environment = os.environ | {"PYTHONPATH": path, VARIABLE: crash_at}
    command = [sys.executable, "-m", "cli.main", "run", "--format", "json"]
    return subprocess.run(command, env=environment, timeout=PATIENCE, check=False).returncode


def test_a_killed_run_is_continued(flow: Flow, application: Path) -> None:  # noqa: F811 - a fixture
    """The runner is killed after the third commit of its spout. The next run goes on after it, and ends by itself. The
    health, the topics, their records and the ports are shown as on our own channels."""
    assert _run("after-append-commit:3") == -signal.SIGKILL
    lost = flow("health", "--format", "json")
    assert lost.code == 1
    (numbers,) = json.loads(lost.out)["streamlets"]
    assert (numbers["health"], numbers["reason"].partition("; ")[2]) == (
        "lost", "the process of the run has exited"
    )  # fmt: skip
    assert _run() == 0
    records = [json.loads(line)["n"] for line in flow("tail", "numbers", "--format", "jsonl").out.splitlines()]
    assert records == [*range(6)]
    listed = flow("topics").out
    assert any("numbers" in line and "6" in line.split() for line in listed.splitlines()), listed
    (status,) = json.loads(flow("status", "--ports", "--format", "json").out).values()
    (port,) = status["ports"]
    assert (port["streamlet"], port["port"], port["topic"], port["state"]) == ("numbers", "out", "numbers", "closed")
    assert (port["direction"], port["records"]) == ("outlet", 3), "since the last run started"
    assert "numbers.out" in flow("status", "--ports").out
