"""A state directory that another user made, or a part of it, is refused by everything that changes it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from streamlets.runner.state_directory.control import Control, ask, request
from streamlets.runner.state_directory.directory import ACCESS, StateDirectory, StateError
from tests.crossings.other_user import made_by_nobody, only_as_root

_ENTRIES = ("lock", "control", "topics", "status", "logs", "checkpoints", "checkpoints/a", "checkpoints/a/q")


def _stop(state: StateDirectory) -> None:
    ask(state, request("stop"), patience=1)


def _run(state: StateDirectory) -> None:
    with state.locked(ACCESS["owner"]):
        pass


def _lock(state: StateDirectory) -> None:
    with state.locked():
        pass


@only_as_root
@pytest.mark.parametrize("act", [_run, _lock, _stop])
@pytest.mark.parametrize("part", ["", "app", *(f"app/{entry}" for entry in _ENTRIES)])
def test_a_part_of_another_user(tmp_path: Path, part: str, act: Callable[[StateDirectory], None]) -> None:
    """It is named, with its owner, this user, and what to do; a stranger's directory is not changed."""
    root = tmp_path / "state"
    state = StateDirectory(root, "app")
    with state.locked():
        state.control.mkdir()
        (state.checkpoints / "a" / "q").mkdir(parents=True)
    mode = made_by_nobody(root / part).stat().st_mode
    with pytest.raises(StateError, match=f"not safe to use: {root / part} belongs to the user `nobody`") as caught:
        act(state)
    assert "runs as the user `root`" in str(caught.value)
    assert "--state-dir" in caught.value.help and "chown" in caught.value.help
    assert (root / part).stat().st_mode == mode


@only_as_root
@pytest.mark.parametrize("act", [_run, _lock, _stop])
def test_a_link_of_another_user(tmp_path: Path, act: Callable[[StateDirectory], None]) -> None:
    """Neither the directory, nor what is in it, may be a link that he made, nor be in a directory of his."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "state").symlink_to("mine")
    made_by_nobody(tmp_path / "state")
    with pytest.raises(StateError, match=r"the link .*state belongs to"):
        act(StateDirectory(tmp_path / "state", "app"))
    state = StateDirectory(tmp_path / "mine", "app")
    _lock(state)
    (state.checkpoints / "a").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (state.checkpoints / "a" / "q").symlink_to(elsewhere)
    _lock(state)
    made_by_nobody(elsewhere)
    with pytest.raises(StateError, match="elsewhere belongs to"):
        act(state)


def test_a_run_closes_what_an_older_version_left_open(tmp_path: Path) -> None:
    """The modes are corrected, as everything in it belongs to this user."""
    state = StateDirectory(tmp_path, "app")
    _lock(state)
    state.directory.chmod(0o777)
    _run(state)
    assert state.directory.stat().st_mode & 0o777 == 0o700


@only_as_root
def test_only_requests_of_the_user_are_taken(tmp_path: Path) -> None:
    """A request that another user wrote, or a link to one, is deleted, and the refusal is logged."""
    state = StateDirectory(tmp_path, "app")
    taken: list[str] = []
    refused: list[str] = []
    with state.locked():
        control = Control(state, lambda wanted: taken.append(wanted.command), refused.append)
        for command in ("stop", "upgrade"):
            wanted = request(command)
            file = state.control / f"{wanted.id}.request"
            draft = tmp_path / "draft"
            draft.write_text(json.dumps(asdict(wanted)))
            made_by_nobody(draft)
            draft.rename(file)
        own = request("restart", streamlet="a")
        (tmp_path / "own").write_text(json.dumps(asdict(own)))
        (state.control / f"{own.id}.request").symlink_to(tmp_path / "own")
        while list(state.control.glob("*.request")):
            time.sleep(0.01)
        control.close()
    assert taken == []
    assert [line.split(": ")[0] for line in refused] == ["refused a request"] * 2
    assert all("belongs to the user `nobody`" in line for line in refused)


@only_as_root
def test_arguments_that_another_user_wrote_are_not_used(tmp_path: Path) -> None:
    """They name files of settings, which name classes."""
    state = StateDirectory(tmp_path, "app")
    with state.locked():
        state.keep_launch(("x=1",))
    assert state.launched() == ("x=1",)
    made_by_nobody(state.launch_file)
    assert state.launched() == ()
