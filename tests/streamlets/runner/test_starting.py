"""A run that is starting."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blueprint.core_settings import Access, ApplicationSettings
from blueprint.plan import ApplicationPlan, OutletPlan, StreamletPlan
from blueprint.quantities import Duration
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.checks import Check, State
from streamlets.runner import run as running
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.events.view import View
from streamlets.runner.hosts import HostContext
from streamlets.runner.run import RunOptions
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision import outlets
from streamlets.runner.supervision.facts import Ended, Started
from tests.streamlets.channels.topics import READING, topic_plan
from tests.streamlets.runner.hosts import hosts_of
from tests.streamlets.runner.supervision.bench import Fake


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


def test_a_streamlet_waits_for_the_channel_of_its_outlet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of the run show the wait with its limit, and it starts when the channel answers."""
    down = Check("Server", State.ERROR, "no answer")
    answers = [[down], [down], []]
    monkeypatch.setattr(CHANNEL_TYPES["delta"], "check", lambda topics: answers.pop(0) if answers else [])
    lines: list[str] = []

    class Watch(View):
        def event(self, event: Event, status: RunStatus) -> None:
            lines.extend([event.line] if isinstance(event, UnitChanged) else [])

    class Import(Fake):
        def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
            super().start(run)
            self.report(Started(self.id, run))
            self.report(Ended(self.id, run))

        report: Callable[[Any], None]

    def hosts(context: HostContext, isolation: object) -> Any:
        unit = Import(UnitId("import"), bounded=True)
        unit.report = context.report
        return hosts_of(unit)

    monkeypatch.setattr(running, "open_hosts", hosts)
    monkeypatch.setattr(outlets, "_ASK_EVERY", 0.0)
    monkeypatch.setattr(running, "store_descriptor", lambda state, plan: None)
    descriptor: Any = None
    outlet = OutletPlan("import", "out", None, READING, "flights", open_timeout=Duration(30 * 10**9))
    plan = ApplicationPlan(
        name="weather", blueprint="blueprint.conf", directory=str(tmp_path), topics=(topic_plan("flights"),),
        streamlets=(StreamletPlan(ref="import", class_name="m.C", descriptor=descriptor, outlets=(outlet,)),),
    )  # fmt: skip
    code, _ = running.run(plan, RunOptions(state=StateDirectory(tmp_path, "weather")), [Watch()])
    waiting = "import: starting, waiting for the channel of flights; 0 s of 30 s"
    assert lines == [waiting, "import: starting", "import: running", "import: completed"]
    assert (code, answers) == (0, [])
