"""Blueprints and streamlets that must break well: what `flow verify` says of them is kept beside each.

After a deliberate change: `UPDATE_EXPECTED=1 pytest tests/examples/test_errors.py`, then read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ERRORS = Path(__file__).resolve().parent.parent.parent / "examples" / "errors"
CASES = sorted(each.name for each in ERRORS.iterdir() if each.is_dir())

NOTHING_TO_CHECK = {"missing-blueprint"}


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
def test_each_mistake_is_told_as_expected(case: str) -> None:
    """The output and the exit code are those kept in `expected.txt`; no frame of ours and no warning of others."""
    done = flow("verify", case, cwd=ERRORS)
    expected = ERRORS / case / "expected.txt"
    said = f"{done.stdout}{done.stderr}\nexit code {done.returncode}\n"
    if os.environ.get("UPDATE_EXPECTED"):
        expected.write_text(said, encoding="utf-8")
    assert said == expected.read_text(encoding="utf-8")
    assert done.returncode == (2 if case in NOTHING_TO_CHECK else 1)
    assert "Traceback" not in said
    assert "internal error" not in said


def test_ten_megabytes_of_braces_are_one_error(tmp_path: Path) -> None:
    """A file that would exhaust the stack of a careless reader gets one short answer."""
    (tmp_path / "blueprint.conf").write_text("{" * 10_000_000)
    done = flow("verify", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("error[") == 1
    assert len(done.stdout) < 2000
    assert "Traceback" not in done.stdout + done.stderr


def test_verifying_leaves_nothing_behind() -> None:
    """No folder and no file comes into being, neither state nor logs."""
    before = {each for each in ERRORS.rglob("*") if "__pycache__" not in each.parts}
    flow("verify", "incompatible", cwd=ERRORS)
    assert {each for each in ERRORS.rglob("*") if "__pycache__" not in each.parts} == before
