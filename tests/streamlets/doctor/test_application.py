"""The checks of an application: state directory, disk, clock, jars and servers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from blueprint.catalog import SparkArtifacts
from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.artifacts.maven import spark_jars
from streamlets.checks import Check, State
from streamlets.doctor import application
from streamlets.doctor.application import jars, servers, state_directory

GIB = 2**30


def _by_subject(checks: list[Check]) -> dict[str, Check]:
    return {check.subject: check for check in checks}


def test_a_good_state_directory(tmp_path: Path) -> None:
    """It need not exist, and nothing is left behind."""
    checks = _by_subject(list(state_directory(tmp_path / "new" / "state")))
    assert checks.keys() == {"state directory", "disk", "clock"}
    assert checks["state directory"].state is checks["clock"].state is State.OK
    assert not list(tmp_path.iterdir())


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is checked then."""

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    (check,) = state_directory(tmp_path)
    assert check.state is State.ERROR and "Permission denied" in check.detail and check.help


@pytest.mark.parametrize(("free", "state"), [(2 * GIB, State.OK), (GIB // 2, State.WARNING), (GIB // 20, State.ERROR)])
def test_a_full_disk(free: int, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little space is a warning, next to none an error."""
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda place: usage)
    check = _by_subject(list(state_directory(tmp_path)))["disk"]
    assert check.state is state and bool(check.help) == (state is not State.OK)


@pytest.mark.parametrize(("ahead", "state"), [(-60.0, State.WARNING), (60.0, State.WARNING), (1.0, State.OK)])
def test_another_clock(ahead: float, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system on a server has the server's clock."""
    real = Path.stat

    def stat(path: Path, **options: Any) -> os.stat_result:
        found = real(path, **options)
        if path.name.startswith(".flow-doctor-"):
            return os.stat_result((*found[:8], found.st_mtime + ahead, found[9]))
        return found

    monkeypatch.setattr(Path, "stat", stat)
    check = _by_subject(list(state_directory(tmp_path)))["clock"]
    assert check.state is state and ("differ by 1 min" in check.detail) == (state is State.WARNING)


def _plan(channel: str, *jars: Path, **options: object) -> ApplicationPlan:
    topics = (TopicPlan("t", "t", channel, True, (), (), options),)
    return ApplicationPlan(
        name="app",
        blueprint="b",
        directory=".",
        streamlets=(),
        topics=topics,
        artifacts=SparkArtifacts(jars=tuple(map(str, jars))),
    )


def test_jars_that_are_not_needed(tmp_path: Path) -> None:
    """Nothing is shown for an application without jars; those of the settings are checked for any application."""
    assert list(jars(_plan("delta"), may_fetch=False)) == []
    (check,) = jars(_plan("delta", tmp_path / "lost.jar"), may_fetch=False)
    assert check.state is State.ERROR and "lost.jar" in check.detail and check.help
    (tmp_path / "lake-1.0.jar").touch()
    (check,) = jars(_plan("delta", tmp_path), may_fetch=False)
    assert (check.state, check.detail) == (State.OK, "1 jar")


def test_a_channel_without_servers() -> None:
    """The delta channel has nothing to check."""
    assert list(servers(_plan("delta"))) == []


def test_versions_of_connectors() -> None:
    """A connector of another version than PySpark's is shown."""
    spark = spark_jars()["spark-core_2.13"]
    check = application._versions({"spark-bus": spark, "bus": "1.0", "other": "2"}, {"spark-bus", "bus"})
    assert (check.state, check.detail) == (State.OK, f"bus 1.0, spark-bus {spark}")
    check = application._versions({"spark-bus": "3.0.0"}, {"spark-bus"})
    assert check.state is State.WARNING and f"PySpark is {spark}" in check.detail and check.help
