"""The modules of a project in this process."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlets.project import modules
from streamlets.project.modules import project_at


@pytest.fixture(autouse=True)
def other_project(tmp_path: Path) -> Iterator[None]:
    """Leave the project of each test, so that its modules do not stay for the next one."""
    yield
    project_at(tmp_path / "other").enter()


def _write(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")


def test_another_project_leaves_the_framework_and_the_path_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root that was in `sys.path` before its project was entered stays; the framework is never unloaded."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    monkeypatch.syspath_prepend(str(first))
    for project in (project_at(first), project_at(second), project_at(tmp_path)):
        project.enter()
    assert str(first) in sys.path
    assert not {str(first / "src"), str(second), str(second / "src")} & set(sys.path)
    assert not project_at(Path(modules.__file__).parents[2]).owns(modules.__file__)


def test_a_project_is_found_again_after_the_path_was_restored(tmp_path: Path) -> None:
    """As `monkeypatch.syspath_prepend` does at the end of a test; the loaded modules of the project stay."""
    directory = tmp_path / "project"
    _write(directory / "restored_one.py", directory / "src" / "restored_two.py")
    before, project = list(sys.path), project_at(directory)
    loaded = project.load("restored_one")
    sys.path[:] = before
    assert project.load("restored_two").__file__ == str(directory / "src" / "restored_two.py")
    assert project.load("restored_one") is loaded
    project_at(tmp_path / "other").enter()
    assert not {str(directory), str(directory / "src")} & set(sys.path)


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


def test_a_namespace_package_of_several_places_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that others import from it can be imported after the project was left; the project's own are unloaded."""
    outside, first, second = tmp_path / "outside", tmp_path / "first", tmp_path / "second"
    _write(
        outside / "spread" / "outer" / "early.py", outside / "spread" / "outer" / "late.py",
        first / "spread" / "own.py", first / "alone" / "within" / "part.py", second / "main.py",
    )  # fmt: skip
    monkeypatch.syspath_prepend(str(outside))
    importlib.import_module("spread.outer.early")
    project_at(first).load("spread.own")
    project_at(first).load("alone.within.part")
    project_at(second).load("main")
    importlib.import_module("spread.outer.late")
    left = {name for name in sys.modules if name.partition(".")[0] in ("spread", "alone")}
    assert left == {"spread", "spread.outer", "spread.outer.early", "spread.outer.late"}


@pytest.mark.parametrize("second", ["second", "first/second", "."])
def test_projects_may_have_modules_of_one_name(tmp_path: Path, second: str) -> None:
    """Each project imports its own module, one after the other or one inside the other, and entered repeatedly."""
    directories = (tmp_path / "first", (tmp_path / second).resolve())
    _write(*(directory / "namesake.py" for directory in directories))
    for directory in (*directories, *directories):
        project = project_at(directory)
        module = project.load("namesake")
        project.enter()
        assert project.load("namesake") is module
        assert module.__file__ == str(directory / "namesake.py")


def test_modules_loaded_before_the_project_was_entered_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other code holds them. A reload executes them again, and from then on they belong to the project."""
    project, other = project_at(tmp_path / "project"), project_at(tmp_path / "other")
    _write(project.directory / "held" / "__init__.py", project.directory / "held" / "late.py")
    monkeypatch.syspath_prepend(str(project.directory))
    held = importlib.import_module("held")
    project.load("held.late")
    other.enter()
    assert sys.modules["held"] is held
    assert "held.late" not in sys.modules
    project.enter()
    project.forget_modules()
    assert project.load("held") is not held
    other.enter()
    assert "held" not in sys.modules


def test_tests_keep_their_modules_when_the_repository_was_a_project(tmp_path: Path) -> None:
    """Tests below the directory of a project can be pickled by name after the project was left."""
    project_at(Path(modules.__file__).parents[2]).enter()
    project_at(tmp_path).enter()
    assert sys.modules[__name__].__dict__ is globals()
