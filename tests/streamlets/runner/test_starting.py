"""A run that is starting."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from blueprint.core_settings import Access, ApplicationSettings
from blueprint.plan import ApplicationPlan, StreamletPlan
from streamlets.runner import run as running
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View
from streamlets.runner.run import RunOptions
from streamlets.runner.state_directory.directory import StateDirectory
from tests.streamlets.runner.hosts import hosts_of


def test_the_status_is_written_while_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow start is not taken for a runner that hangs."""
    state = StateDirectory(tmp_path, "weather")

    def last_update() -> float:
        return float(json.loads(state.status_file.read_text())["written"])

    def hosts(*_: Any) -> Any:
        first, deadline = last_update(), time.monotonic() + 300
        while last_update() == first:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return hosts_of()

    monkeypatch.setattr(running, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(running, "open_hosts", hosts)
    plan = ApplicationPlan(
        name="weather", blueprint="blueprint.conf", directory=str(tmp_path), streamlets=(), topics=()
    )
    code, _ = running.run(plan, RunOptions(state=state), [])
    assert code == 0


def test_streamlets_wait_for_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While Spark starts, the views show that each streamlet waits for it."""
    waiting: list[tuple[str, str]] = []

    class Watch(View):
        def event(self, event: Event, status: RunStatus) -> None:
            self.status = status

    view = Watch()

    def hosts(*_: Any) -> Any:
        waiting.extend((streamlet.ref, streamlet.waiting) for streamlet in view.status.streamlets)
        return hosts_of()

    monkeypatch.setattr(running, "open_hosts", hosts)
    descriptor: Any = None
    streamlets = (
        StreamletPlan(
            ref=ref,
            class_name="m.C",
            descriptor=descriptor,
        )
        for ref in ("a", "b")
    )
    plan = ApplicationPlan(
        name="weather",
        blueprint="blueprint.conf",
        directory=str(tmp_path),
        streamlets=tuple(streamlets),
        topics=(),
    )
    running.run(plan, RunOptions(state=StateDirectory(tmp_path, "weather")), [view])
    assert waiting == [("a", "starting Spark"), ("b", "starting Spark")]


@pytest.mark.parametrize(("access", "mode"), [("owner", 0o700), ("group", 0o750)])
def test_the_setting_decides_who_may_read_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, access: Access, mode: int
) -> None:
    """A run sets the mode of the state directory, also of one that exists with another mode."""
    state = StateDirectory(tmp_path, "weather")
    state.directory.mkdir()
    state.directory.chmod(0o755)
    monkeypatch.setattr(running, "open_hosts", lambda *_: hosts_of())
    plan = ApplicationPlan(
        name="weather",
        blueprint="blueprint.conf",
        directory=str(tmp_path),
        streamlets=(),
        topics=(),
        settings=ApplicationSettings(state_access=access),
    )
    running.run(plan, RunOptions(state=state), [])
    for directory in (state.directory, state.topics, state.checkpoints, state.logs):
        assert directory.stat().st_mode & 0o777 == mode
