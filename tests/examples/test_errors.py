"""Blueprints and streamlets with mistakes: the output of `flow verify` is next to each in `expected.txt`.

After a deliberate change: `UPDATE_EXPECTED=1 pytest tests/examples/test_errors.py`, then read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ERRORS = Path(__file__).resolve().parent.parent.parent / "examples" / "errors"
CASES = sorted(path.name for path in ERRORS.iterdir() if path.is_dir())

WITHOUT_BLUEPRINT = {"missing-blueprint"}


def flow(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    environment = {**os.environ, "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("case", CASES)
def test_each_mistake_is_reported_as_expected(case: str) -> None:
    """The output and the exit code are those in `expected.txt`, without a traceback or a warning of a library."""
    done = flow("verify", case, cwd=ERRORS)
    expected = ERRORS / case / "expected.txt"
    output = f"{done.stdout}{done.stderr}\nexit code {done.returncode}\n"
    if os.environ.get("UPDATE_EXPECTED"):
        expected.write_text(output, encoding="utf-8")
    assert output == expected.read_text(encoding="utf-8")
    assert done.returncode == (2 if case in WITHOUT_BLUEPRINT else 1)
    assert "Traceback" not in output
    assert "internal error" not in output


def test_ten_megabytes_of_braces_are_one_error(tmp_path: Path) -> None:
    """A file that would exhaust the stack of a recursive parser has one short finding."""
    (tmp_path / "blueprint.conf").write_text("{" * 10_000_000)
    done = flow("verify", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("error[") == 1
    assert len(done.stdout) < 2000
    assert "Traceback" not in done.stdout + done.stderr


def test_verify_creates_no_files() -> None:
    """It creates neither a state directory nor logs."""
    before = {path for path in ERRORS.rglob("*") if "__pycache__" not in path.parts}
    flow("verify", "incompatible", cwd=ERRORS)
    assert {path for path in ERRORS.rglob("*") if "__pycache__" not in path.parts} == before
