"""The checks of this machine find what would stop a run, and say what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamlets.checks import State
from streamlets.doctor import machine


def _command(directory: Path, script: str) -> Path:
    """Create a command."""
    directory.mkdir(parents=True, exist_ok=True)
    command = directory / "command"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return command


@pytest.mark.parametrize(
    ("script", "state", "detail"),
    [
        ("echo 'openjdk version \"17.0.1\"' >&2", State.OK, "17 ("),
        ("echo 'openjdk version \"21\"' >&2", State.OK, "21 ("),
        ("echo 'java version \"1.8.0_372\"' >&2", State.ERROR, "found Java 8"),
        ("exit 3", State.ERROR, "does not show a version"),
    ],
)
def test_java(script: str, state: State, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java is new enough, too old, or broken."""
    _command(tmp_path / "bin", script).rename(tmp_path / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = machine.java()
    assert check.state is state and detail in check.detail
    assert bool(check.help) == (state is State.ERROR)


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAVA_HOME without Java is an error, as for Spark."""
    monkeypatch.setenv("JAVA_HOME", "/does-not-exist")
    check = machine.java()
    assert check.state is State.ERROR and "/does-not-exist" in check.detail and "install" in check.help


def test_the_python_of_workers(tmp_path: Path) -> None:
    """It has the version and the PySpark of this process, or a run would fail at the first Python function."""
    assert machine.python(None).state is State.OK
    same = _command(tmp_path / "same", f'exec {sys.executable} "$@"')
    assert machine.python(str(same)).state is State.OK
    older = machine.python(str(_command(tmp_path / "older", "echo '[[3, 8], \"3.5.0\"]'")))
    assert older.state is State.ERROR and "Python 3.8 and PySpark 3.5.0" in older.detail and older.help
    bare = machine.python(str(_command(tmp_path / "bare", "echo \"No module named 'pyspark'\" >&2; exit 1")))
    assert bare.state is State.ERROR and "No module named 'pyspark'" in bare.detail
    missing = machine.python("/does-not-exist")
    assert missing.state is State.ERROR and "does not run" in missing.detail


def test_packages_here() -> None:
    """The packages of this environment are those that the project requires."""
    (check,) = machine.packages()
    assert check.state is State.OK and "pyspark 4." in check.detail


def test_packages_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing packages and versions outside of the bounds are errors; those of extras are not required."""
    required = ["no-such-package>=2", "pandas>=1,<2", "pyarrow>=1", 'confluent-kafka>=999; extra == "kafka"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: required)
    missing, old = machine.packages()
    assert (missing.subject, missing.state) == ("no-such-package", State.ERROR)
    assert "pip install 'no-such-package>=2'" in missing.help
    assert old.subject == "pandas" and "expected >=1,<2" in old.detail
