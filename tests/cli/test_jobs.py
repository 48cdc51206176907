"""Commands take a job file like a blueprint; these need no Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Flow

JOB = """CREATE STREAM ticks FROM rate OPTIONS ('rowsPerSecond' = ${speed});
SAVE STREAM ticks TO json OPTIONS ('path' = '${password}/ticks');
"""
SETTINGS = ("speed=3", "password=hunter2")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a job file in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ticks.sql"
    path.write_text(JOB)
    return path


@pytest.mark.usefixtures("job")
def test_the_settings_of_a_job_are_shown(flow: Flow) -> None:
    """The name of the file is the name of the application, and variables are settings; secrets are masked."""
    assert flow("verify", "ticks.sql", *SETTINGS).code == 0
    out = flow("config", "ticks.sql", *SETTINGS).out
    assert "flow.application = ticks\n" in out
    assert "flow.streamlets.job.parameters.statements = CREATE STREAM ticks FROM rate" in out
    assert "hunter2" not in out


@pytest.mark.usefixtures("job")
def test_a_descriptor_has_the_statements_but_not_the_secrets(flow: Flow) -> None:
    """The descriptor of a job has its statements as they are written."""
    out = flow("describe", "ticks.sql", *SETTINGS).out
    parameters = json.loads(out)["streamlets"]["job"]["parameters"]
    assert parameters["statements"] == JOB
    assert parameters["variables"]["speed"] == "3"
    assert "hunter2" not in out


def test_a_changed_statement_is_reported_without_its_text(flow: Flow, job: Path) -> None:
    """The finding does not repeat the statements; it says that only Spark can compare the queries."""
    (job.parent / "before.json").write_text(flow("describe", "ticks.sql", *SETTINGS).out)
    job.write_text(JOB.replace("/ticks", "/others"))
    out = " ".join(flow("verify", "ticks.sql", *SETTINGS, "--against", "before.json").out.split())
    assert "the parameter `statements` of `job` has a different text (unknown)" in out
    assert "only compared with `--plans`" in out


def test_a_job_that_cannot_be_read_is_a_finding(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing, empty or binary file is one finding; a missing one is a wrong argument."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.sql").touch()
    (tmp_path / "binary.sql").write_bytes(b"\xff\xfe")
    results = {name: flow("verify", f"{name}.sql", "--format", "concise") for name in ("missing", "empty", "binary")}
    assert {name: result.code for name, result in results.items()} == {"missing": 2, "empty": 1, "binary": 1}
    assert "error[file-not-found]" in results["missing"].out
    assert "error[file-empty]" in results["empty"].out
    assert "error[file-unreadable]" in results["binary"].out


@pytest.mark.usefixtures("job")
def test_an_output_in_the_state_directory_is_refused_before_the_run(flow: Flow) -> None:
    """`flow run` checks the directory of `--state-dir`; `flow verify` knows the default one."""
    in_state = ("ticks.sql", "speed=3", "password=state/ticks/out")
    assert flow("verify", *in_state).code == 0
    result = flow("run", *in_state, "--state-dir", "state")
    assert (result.code, "error[checkpoint-in-output]" in result.err) == (2, True)
    assert not Path("state").exists()
