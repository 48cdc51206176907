"""The first commands of a new user, in an environment that has nothing but what `pip install` puts there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


class Terminal:
    """Runs commands in a directory, with the programs of an environment first on the path.

    Arguments:
        directory: the working directory.
        bin: the programs of the environment.
    """

    def __init__(self, directory: Path, bin: Path) -> None:
        self.directory = directory
        self._environment = {**os.environ, "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"}
        for name in ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "VIRTUAL_ENV", "SPARK_HOME"):
            self._environment.pop(name, None)

    def run(self, *command: str) -> str:
        """Run a command, which must succeed, print how long it took, and return its output."""
        start = time.monotonic()
        done = subprocess.run(
            command, cwd=self.directory, env=self._environment, capture_output=True, text=True, check=False
        )
        print(f"{time.monotonic() - start:6.1f} s  {' '.join(command)}")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.full
def test_from_an_empty_directory_to_passed_tests(tmp_path: Path) -> None:
    """`pip install`, `flow new`, `flow run` and `pytest` work one after the other. `pytest -s` shows their times.

    `FRESH_PYTHON` names another interpreter than that of the tests.
    """
    source = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in filter(None, tracked.stdout.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, source / name, follow_symlinks=False)
    python, environment = os.environ.get("FRESH_PYTHON", sys.executable), tmp_path / "environment"
    subprocess.run([python, "-m", "venv", "--without-pip", str(environment)], check=True)
    project = tmp_path / "empty"
    project.mkdir()
    terminal = Terminal(project, environment / "bin")
    terminal.run(sys.executable, "-m", "pip", "--python", str(environment), "install", "--quiet", str(source), "pytest")
    assert "Created shop" in terminal.run("flow", "new", "shop")
    terminal.directory = project / "shop"
    assert "ended: all done (exit code 0)" in terminal.run("flow", "run", "--available-now")
    assert " passed" in terminal.run("pytest")
    assert {path.name for path in project.iterdir()} == {"shop"}
