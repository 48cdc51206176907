"""`flow verify --fix` and `--diff` on files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

ERRORS = Path(__file__).resolve().parent.parent.parent / "examples" / "errors"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose blueprint is of 1.x, with comments in its connections."""
    folder = tmp_path / "project"
    shutil.copytree(ERRORS / "connections", folder)
    blueprint = folder / "blueprint.conf"
    text = blueprint.read_text(encoding="utf-8").replace("connections {", "connections { # who feeds whom")
    blueprint.write_text(text, encoding="utf-8")
    blueprint.chmod(0o640)
    monkeypatch.chdir(folder)
    return folder


def test_fix_rewrites_says_so_and_verifies_again(flow: Flow, project: Path) -> None:
    """What was fixed is told, then what remains; comments and permissions stay; a second time there is nothing."""
    said = flow("verify", "--fix")
    assert said.code == 0
    assert said.out.startswith("blueprint.conf:7:3: fixed[connections-section]: write `topics`\n")
    assert "no findings" in said.out
    text = (project / "blueprint.conf").read_text(encoding="utf-8")
    assert "  # who feeds whom\n  topics {\n" in text
    assert (project / "blueprint.conf").stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in project.iterdir() if each.name != "__pycache__") == sorted(
        each.name for each in (ERRORS / "connections").iterdir() if each.name != "__pycache__"
    )
    again = flow("verify", "--fix")
    assert "fixed" not in again.out
    assert (project / "blueprint.conf").read_text(encoding="utf-8") == text


def test_diff_shows_the_same_and_writes_nothing(flow: Flow, project: Path) -> None:
    """A unified diff on the standard output, and a file that is as it was."""
    before = (project / "blueprint.conf").read_bytes()
    said = flow("verify", "--diff")
    assert said.code == 1
    assert said.out.startswith("--- a/blueprint.conf\n+++ b/blueprint.conf\n@@")
    assert "\n+  topics {\n" in said.out
    assert "1 to fix, 0 to look at" in said.err
    assert (project / "blueprint.conf").read_bytes() == before


def test_diff_shows_what_comes_to_light_by_a_fix(flow: Flow, project: Path) -> None:
    """What stands behind another mistake is in the same diff, which ends where `--fix` does."""
    blueprint = project / "blueprint.conf"
    text = blueprint.read_text(encoding="utf-8")
    blueprint.write_text(f"{text}flow.application = @home\nflow.trigge = available-now\n", encoding="utf-8")
    before = blueprint.read_text(encoding="utf-8")
    shown = flow("verify", "--diff")
    assert '+flow.application = "@home"\n' in shown.out
    assert "+flow.trigger = available-now\n" in shown.out
    assert "\n+  topics {\n" in shown.out
    assert "3 to fix, 1 to look at" in shown.err  # no application is called so
    assert blueprint.read_text(encoding="utf-8") == before
    assert flow("verify", "--fix").out.count("fixed[") == 3
    after = blueprint.read_text(encoding="utf-8")
    added = {line[1:] for line in shown.out.splitlines() if line.startswith("+") and not line.startswith("+++")}
    assert added == set(after.splitlines()) - set(before.splitlines())


def test_data_stays_data_while_fixing(flow: Flow, project: Path) -> None:
    """With `--format json` the standard output is one document, and what was fixed goes to the standard error."""
    said = flow("verify", "--fix", "--format", "json")
    assert json.loads(said.out)["diagnostics"] == []
    assert "fixed[connections-section]" in said.err


def test_files_outside_of_the_project_and_arguments_stay(flow: Flow, project: Path) -> None:
    """Only files below the blueprint's folder are changed; a slip elsewhere is told, not mended."""
    shared = project.parent / "shared.conf"
    shared.write_text("flow.trigge = available-now\n", encoding="utf-8")
    said = flow("verify", "--fix", "--conf", str(shared), "flow.retry.enable=true")
    assert said.code == 1
    assert said.out.count("error[unknown-setting]") == 2
    assert shared.read_text(encoding="utf-8") == "flow.trigge = available-now\n"
