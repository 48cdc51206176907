"""The modules of a project in this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from streamlets.project.modules import project_at


def test_unloaded_modules_are_executed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of the project and of the given packages are executed again, other modules are not."""
    directory, installed = tmp_path / "project", tmp_path / "installed"
    for file in (
        directory / "src" / "forgetting" / "__init__.py", directory / "src" / "forgetting" / "parts.py",
        directory / "forgetting_flat.py",
        installed / "forgetting_named" / "__init__.py", installed / "forgetting_other.py",
    ):  # fmt: skip
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("state = []\n")
    monkeypatch.syspath_prepend(str(installed))
    project = project_at(directory)
    names = ("forgetting.parts", "forgetting_flat", "forgetting_named", "forgetting_other")
    before = {name: project.load(name) for name in names}
    project.forget_modules({"forgetting_named", "streamlets"})
    again = {name: project.load(name) for name in names}
    assert [name for name in names if again[name] is before[name]] == ["forgetting_other"]
    assert again["forgetting.parts"].state is not before["forgetting.parts"].state
    assert sys.modules["json"] is json
    assert sys.modules["streamlets.project.modules"].project_at is project_at
