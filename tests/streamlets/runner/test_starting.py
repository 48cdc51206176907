"""A run that is starting."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.plan import ApplicationPlan
from streamlets.runner import run as running
from streamlets.runner.run import RunOptions
from streamlets.runner.state_directory.directory import StateDirectory


def test_the_status_is_written_while_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow start is not taken for a runner that hangs."""
    state = StateDirectory(tmp_path, "weather")

    def last_update() -> float:
        return float(json.loads(state.status_file.read_text())["told"])

    def drivers(*_: Any, **__: Any) -> Any:
        first, deadline = last_update(), time.monotonic() + 60
        while last_update() == first:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return SimpleNamespace(units=(), stop=lambda: None)

    monkeypatch.setattr(running, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(running, "drivers_of", drivers)
    plan = ApplicationPlan("weather", "blueprint.conf", str(tmp_path), (), (), {})
    code, _ = running.run(plan, RunOptions(state), lambda event: None, print)
    assert code == 0
