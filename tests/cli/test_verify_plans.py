"""`flow verify --plans` as a command: its own Spark, its output, and what it says without Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

REPOSITORY = Path(__file__).resolve().parents[2]
SENSORS = REPOSITORY / "examples" / "sensors"


@pytest.mark.spark
def test_the_logic_is_built_and_nothing_else_is_done(tmp_path: Path) -> None:
    """One process: data on its output, silence beside it, no file left in the project or among temporary files."""
    application = tmp_path / "application"
    application.mkdir()
    (application / "blueprint.conf").write_text((SENSORS / "blueprint.conf").read_text())
    (application / "gauges").symlink_to(SENSORS / "gauges")
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "verify", "--plans", "--format", "json", str(application)],
        cwd=REPOSITORY, env={**os.environ, "TMPDIR": str(scratch)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["diagnostics"] == []
    assert report["checked"]["logic"] == report["checked"]["streamlets"] == 3
    assert done.stderr == ""
    assert sorted(path.name for path in application.iterdir()) == ["blueprint.conf", "gauges"]
    assert [path.name for path in scratch.iterdir() if path.name.startswith("streamlets")] == []


def test_without_java_the_rest_is_reported(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings that need no Spark, then one error with its remedy; exit code 2."""
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    said = flow("verify", "--plans", str(SENSORS))
    assert said.code == 2
    assert "no findings" in said.out and "not checked: the streamlets' logic" in said.out
    assert said.err.startswith("Error: the streamlets' logic cannot be built: JAVA_HOME is /no/such/folder")
    assert "help: install a Java runtime" in said.err


def test_without_streamlets_to_build_no_spark_is_started(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps every streamlet from being built is told without waiting."""
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    said = flow("verify", "--plans", "--format", "concise", str(REPOSITORY / "examples" / "errors" / "empty-blueprint"))
    assert said.code == 1
    assert said.err == ""
