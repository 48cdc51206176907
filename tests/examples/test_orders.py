"""The example of a batch source, run as a user does."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "orders"
HEADER = "id,product,quantity,price\n"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Provide a copy of the example."""
    return shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns(".flow", "out"))


def flow(*arguments: str) -> str:
    """Run the command in the repository, and return its output."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    run = subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=EXAMPLE.parents[1],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def saved(example: Path) -> list[int]:
    """Process all available data, and return the numbers of the orders in its archive."""
    flow("run", "--available-now", str(example))
    files = (example / "out" / "orders").glob("*.json")
    return sorted(json.loads(line)["id"] for file in files for line in file.read_text().splitlines())


@pytest.mark.slow
@pytest.mark.spark
def test_a_broken_file_is_set_aside(example: Path) -> None:
    """The rows of the other files arrive; the broken one is a dead letter with its error, which the run reports."""
    (example / "data" / "broken.csv").write_text(f"{HEADER}4,fig,1,2.5\nmany,apple,1,1\n")
    assert saved(example) == [1, 2, 3]
    letters = flow("dead-letters", "show", "orders", str(example), "--format", "jsonl")
    assert "broken.csv" in letters
    assert "many" in letters
    (descriptor,) = example.glob(".flow/*/descriptor.json")
    version = hashlib.sha256(descriptor.read_bytes()).hexdigest()[:12]
    assert {json.loads(letter)["version"] for letter in letters.splitlines()} == {version}
    (log,) = example.glob(".flow/*/logs/run.log")
    warning = next(line for line in log.read_text().splitlines() if "failed in 3 attempts" in line)
    assert "broken.csv" in warning and "orders.py:" in warning, "the file and the line of the source are shown"


@pytest.mark.full
@pytest.mark.spark
def test_each_file_is_read_once(example: Path) -> None:
    """A second run reads what is new, and a third nothing."""
    assert saved(example) == [1, 2, 3]
    (example / "data" / "wednesday.csv").write_text(f"{HEADER}4,fig,1,2.5\n")
    assert saved(example) == [1, 2, 3, 4]
    assert saved(example) == [1, 2, 3, 4]
