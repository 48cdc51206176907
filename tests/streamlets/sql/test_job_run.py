"""A job file in a real run: it ends when all its queries have ended, and its exit code reports those that failed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """CREATE STREAM numbers (n int) FROM csv OPTIONS ('path' = 'in');
SAVE STREAM numbers TO json IDENTIFIED BY good OPTIONS (path = 'out');
SAVE STREAM numbers TO function IDENTIFIED BY bad OPTIONS (function = 'author.save', 'pstl.retry.enabled' = false);
"""


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.slow
def test_a_query_that_fails_for_good_is_in_the_exit_code(tmp_path: Path) -> None:
    """The other query processes its data, and the job continues when the failure is repaired."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "first.csv").write_text("1\n2\n")
    (tmp_path / "pair.sql").write_text(JOB)
    author, command = tmp_path / "author.py", [sys.executable, "-m", "cli.main", "run", "pair.sql", "--available-now"]
    author.write_text("def save(rows, batch):\n    raise ValueError('no')\n")
    failed = subprocess.run([*command, "--format", "lines"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert failed.returncode == 1, failed.stderr
    assert failed.stdout.splitlines()[-1][10:] == "ended: failed for good: job.bad (exit code 1)"
    author.write_text("def save(rows, batch):\n    rows.write.json('saved', mode='append')\n")
    ended = subprocess.run([*command, "--format", "lines"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1][10:] == "ended: all done (exit code 0)"
    for output in ("out", "saved"):
        lines = [line for file in (tmp_path / output).glob("*.json") for line in file.read_text().splitlines()]
        assert sorted(json.loads(line)["n"] for line in lines) == [1, 2], output
