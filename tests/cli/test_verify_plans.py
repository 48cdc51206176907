"""`flow verify --plans` as a command: in its own process, without Java, and without streamlets."""

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
def test_the_logic_is_built_without_side_effects(tmp_path: Path) -> None:
    """The standard output has JSON, the standard error is empty, and no files remain."""
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


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_builds_the_logic_first(tmp_path: Path) -> None:
    """The run has a Spark of its own, which does not get Java objects that modules of the first one have stored."""
    (tmp_path / "rows").mkdir()
    (tmp_path / "blueprint.conf").write_text("blueprint.streamlets.numbers = numbering.Numbers\n")
    (tmp_path / "doubling.py").write_text("from pyspark.sql import functions as F\n\nDOUBLED = F.col('value') * 2\n")
    (tmp_path / "numbering.py").write_text(
        "from streamlets import SparkStreamlet, SparkStreamletLogic\n\n"
        "class Numbers(SparkStreamlet):\n"
        "    class Logic(SparkStreamletLogic):\n"
        "        def build_streaming_queries(self):\n"
        "            from doubling import DOUBLED\n\n"
        "            rows = self.source('rows', format='text', schema='value string', options={'path': 'rows'})\n"
        "            return self.query('out', rows.select(DOUBLED).writeStream.format('noop'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "run", "--plans", "--available-now"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "starting Spark for numbers" in done.stdout
    assert "ended: all done" in done.stdout


def test_without_java_the_rest_is_reported(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings that do not need Spark are reported, then an error with help; the exit code is 2."""
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    result = flow("verify", "--plans", str(SENSORS))
    assert result.code == 2
    assert "no findings" in result.out and "not checked: the streamlets' logic" in result.out
    assert result.err.startswith("error: the streamlets' logic cannot be built: Spark needs Java: JAVA_HOME is")
    assert "help: install a Java runtime" in result.err


def test_without_streamlets_spark_is_not_started(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application without streamlets is reported immediately."""
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    result = flow(
        "verify", "--plans", "--format", "concise", str(REPOSITORY / "examples" / "errors" / "empty-blueprint")
    )
    assert result.code == 1
    assert result.err == ""
