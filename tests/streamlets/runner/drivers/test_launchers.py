"""The launchers, and the distribution of a plan's streamlets over drivers. None is started here: all are resting."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from blueprint.catalog import ExternalResources
from blueprint.core_settings import Isolation, StreamletSettings
from blueprint.plan import ApplicationPlan, StreamletPlan
from streamlets.runner.drivers.launchers import LAUNCHERS, DriverProcesses
from streamlets.runner.hosts import HostContext, Hosts
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.session import SessionError


def _drivers(directory: Path, groups: dict[str, str | None]) -> DriverProcesses:
    descriptor: Any = SimpleNamespace(external=ExternalResources())
    streamlets = (
        StreamletPlan(
            ref=ref,
            class_name="m.C",
            descriptor=descriptor,
            settings=StreamletSettings(group=group),
        )
        for ref, group in groups.items()
    )
    plan = ApplicationPlan(
        name="app",
        blueprint="blueprint.conf",
        directory=str(directory),
        streamlets=tuple(streamlets),
        topics=(),
    )
    context = HostContext(
        plan=plan, state=StateDirectory(directory, "app"), master="local[1]", bounded=True, resting=groups,
        report=lambda fact: None, log=lambda unit, text: None,
    )  # fmt: skip
    made = LAUNCHERS["process"](context)
    assert isinstance(made, DriverProcesses)
    return made


def test_each_isolation_has_a_launcher() -> None:
    """The language knows their names, the runner what they do."""
    assert set(LAUNCHERS) == set(get_args(Isolation))


@pytest.mark.spark  # looks for Java
def test_units_keep_the_order_of_the_plan(tmp_path: Path) -> None:
    """Independent of the groups. Drivers that were never started are stopped at once, and have no rows in state."""
    drivers = _drivers(tmp_path, {"a": None, "b": "io", "c": None, "d": "io"})
    assert [str(unit.id) for unit in Hosts([drivers], ["a", "b", "c", "d"]).units] == ["a", "b", "c", "d"]
    assert all(unit.bounded for unit in drivers.units)
    assert list(drivers.rows_in_state({unit.id: None for unit in drivers.units})) == []
    drivers.stop()


@pytest.mark.spark  # looks for Java
def test_each_driver_has_its_own_directories_and_share_of_the_memory(tmp_path: Path) -> None:
    """The directories of logs and temporary files, and the name in Spark, contain the name of the driver."""
    drivers = _drivers(tmp_path, {"a": None, "b": "io"})
    sessions = [process._assignment.session for process in drivers._processes]
    assert [session.application for session in sessions] == ["app.a", "app.io"]
    assert [session.logs for session in sessions] == [tmp_path / "app" / "logs" / name for name in ("a", "io")]
    assert len({session.scratch for session in sessions}) == 2
    assert {(session.sparks, session.master) for session in sessions} == {(2, "local[1]")}


def test_no_driver_is_started_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised once, not reported by each driver."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SessionError, match="Spark needs Java"):
        _drivers(tmp_path, {"a": None})
