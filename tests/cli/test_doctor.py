"""`flow doctor` shows each check, and its exit code is that of the worst."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamlets.artifacts.java import java_command
from tests.cli.conftest import Flow

BLUEPRINT = """
blueprint {
  streamlets { sensors = app.Sensors, archive = app.Archive }
  topics { readings { producers = [sensors.readings], consumers = [archive.in] } }
}
"""
APP = """
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic

class Nothing(SparkStreamletLogic):
    def build_streaming_queries(self):
        return []

class Sensors(SparkStreamlet):
    readings = AvroOutlet(schema="src string")
    Logic = Nothing

class Archive(SparkStreamlet):
    records = AvroInlet("in", schema="src string")
    Logic = Nothing
"""


@pytest.fixture(autouse=True)
def _java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty directory, with a Java that only shows its version."""
    monkeypatch.chdir(tmp_path)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"17\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    assert java_command() == str(java)


def test_the_machine_alone(flow: Flow) -> None:
    """In a directory without a blueprint, the machine is checked."""
    result = flow("doctor")
    assert result.code == 0
    lines = [line for line in result.out.splitlines() if not line.startswith(" ")]  # without help
    assert [line.split(":")[0].split() for line in lines] == [
        ["ok", "Java"],
        ["ok", "packages"],
        ["ok", "Python"],
        ["ok", "Java's", "classes"],
        ["ok", "state", "directory"],
        ["ok", "disk"],
        ["ok", "clock"],
    ]


def test_an_application(flow: Flow, tmp_path: Path) -> None:
    """With a blueprint, what the application needs is checked, too. As JSON, nothing else is printed."""
    Path("blueprint.conf").write_text(BLUEPRINT)
    Path("app.py").write_text(APP)
    result = flow("doctor", "--format", "json", "--state-dir", "elsewhere/state")
    checks = {check["subject"]: check for check in json.loads(result.out)["checks"]}
    assert result.code == 0
    assert checks["blueprint"] == {
        "subject": "blueprint", "state": "ok", "detail": "2 streamlets, 1 topic", "help": "",
    }  # fmt: skip
    assert "elsewhere/state" in checks["state directory"]["detail"]
    assert not (tmp_path / "elsewhere").exists()


def test_errors(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error has its remedy below it, and the exit code 1."""
    Path("blueprint.conf").write_text(BLUEPRINT)
    Path("app.py").write_text(APP.replace('AvroInlet("in"', 'AvroInlet("other"'))
    monkeypatch.setenv("JAVA_HOME", "/does-not-exist")
    result = flow("doctor")
    assert result.code == 1
    assert "error    Java: JAVA_HOME is /does-not-exist" in result.out
    assert "         help: install a Java runtime" in result.out
    assert "error    blueprint: `flow verify` reports 1 error" in result.out


def test_jars_that_do_not_exist(flow: Flow) -> None:
    """Settings on the command line count."""
    Path("blueprint.conf").write_text(BLUEPRINT)
    Path("app.py").write_text(APP)
    result = flow("doctor", "flow.spark.jars=[lost.jar]")
    assert result.code == 1
    assert "error    jars: `flow.spark.jars` names lost.jar, but the file does not exist" in result.out


def test_a_path_that_does_not_exist(flow: Flow) -> None:
    """A wrong path is not a machine without an application."""
    result = flow("doctor", "lost.conf")
    assert (result.code, result.out) == (2, "")
    assert "there is no blueprint or settings file to check: lost.conf" in result.err


def test_classes_that_cannot_be_archived(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark runs without an archive, too: the reason is a warning, and nothing unfinished is left behind."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "help: run `flow doctor --prepare`" in flow("doctor").out
    result = flow("doctor", "--prepare")  # with a Java that runs nothing
    assert result.code == 0
    assert "warning  Java's classes: not archived: " in result.out
    files = {path.name for path in (tmp_path / "cache").rglob("*") if not path.is_symlink() and path.is_file()}
    assert files == {"__init__.py"}  # with which Python processes start


def test_an_archive_that_takes_too_long(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning is a sentence with the time and what to do."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("cli.spark_classes._PATIENCE", 0.001)
    result = flow("doctor", "--prepare")
    assert "Java's classes: not archived: Spark did not run and exit within " in result.out
    assert "again when the machine is less busy" in result.out
    assert "(" not in result.out.partition("not archived")[2].partition("\n")[0]
