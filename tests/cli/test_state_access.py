"""Commands of a user who does not have permission to read the state of an application."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow


def test_missing_permissions_are_reported(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the directory and the setting, and not an application that never ran."""
    state = StateDirectory(tmp_path / ".flow", "plant")
    with state.locked():
        pass
    allowed = os.access

    def access(path: Any, mode: int) -> bool:  # Root may read everything.
        return path != state.directory and allowed(path, mode)

    monkeypatch.setattr("cli.state.os.access", access)
    result = flow("status", str(tmp_path))
    assert result.code == 2
    assert f"{state.directory} cannot be read: permission denied" in result.err.replace("\n", " ")
    assert "flow.state-access" in result.err
