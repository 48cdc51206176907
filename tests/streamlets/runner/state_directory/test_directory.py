"""The state folder: one owner, atomic status, starting anew."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from streamlets.runner.state_directory.control import Control
from streamlets.runner.state_directory.directory import (
    ACCESS,
    StateDirectory,
    StateError,
    read_status,
    write_atomically,
)

_HOLD = """
import sys
from pathlib import Path
from streamlets.runner.state_directory.directory import StateDirectory
with StateDirectory(Path(sys.argv[1]), "app").locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def _owner(root: Path) -> subprocess.Popen[str]:
    owner = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "held\n"
    return owner


def test_second_owner_is_told_of_the_first(tmp_path: Path) -> None:
    """Who comes second gets an error that names the first one's process and a remedy."""
    owner = _owner(tmp_path)
    try:
        expected = pytest.raises(StateError, match=f"already run by process {owner.pid} ")
        with expected as caught, StateDirectory(tmp_path, "app").locked():
            pass
        assert "--state-dir" in caught.value.help
    finally:
        owner.kill()
        owner.communicate()


def test_lock_dies_with_its_owner(tmp_path: Path) -> None:
    """After `kill -9` of the owner the folder can be had at once, and what it left in scratch is gone."""
    owner = _owner(tmp_path)
    (tmp_path / "app" / "tmp" / "left").touch()
    owner.kill()
    owner.communicate()
    state = StateDirectory(tmp_path, "app")
    with state.locked():
        assert list(state.scratch.iterdir()) == []


def test_unwritable_folder_is_one_clear_error(tmp_path: Path) -> None:
    """A state folder that is a file is told with its path."""
    (tmp_path / "root").write_text("")
    expected = pytest.raises(StateError, match="root/app cannot be written")
    with expected, StateDirectory(tmp_path / "root", "app").locked():
        pass


def test_fresh_forgets_topics_and_checkpoints_but_not_logs(tmp_path: Path) -> None:
    """Starting anew leaves empty folders and the logs."""
    state = StateDirectory(tmp_path, "app")
    with state.locked():
        (state.topics / "readings").mkdir()
        (state.checkpoints / "a").mkdir()
        (state.logs / "run.log").write_text("kept")
        assert state.holds_anything()
        state.clear()
        assert not state.holds_anything()
        assert (state.logs / "run.log").read_text() == "kept"


def test_status_is_replaced_whole(tmp_path: Path) -> None:
    """A reader never sees a part of a status, however often it is replaced."""
    state = StateDirectory(tmp_path, "app")
    state.status_file.parent.mkdir(parents=True)
    write_atomically(state.status_file, '{"n": 0}')
    over = threading.Event()

    def write() -> None:
        for n in range(300):
            write_atomically(state.status_file, f'{{"n": {n}, "filling": "{"x" * 50_000}"}}')
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not over.is_set():
        assert read_status(state) is not None
        seen += 1
    writer.join()
    assert seen > 0


def test_no_status_is_none(tmp_path: Path) -> None:
    """A missing or broken status file reads as none."""
    state = StateDirectory(tmp_path, "app")
    assert read_status(state) is None
    state.status_file.parent.mkdir(parents=True)
    state.status_file.write_text("{")
    assert read_status(state) is None


def _modes(state: StateDirectory) -> dict[str, int]:
    return {
        folder.name: stat.S_IMODE(folder.stat().st_mode)
        for folder in (state.directory, *state.directory.iterdir()) if folder.is_dir()
    }  # fmt: skip


def test_nobody_else_may_read_the_state(tmp_path: Path) -> None:
    """Topics, dead letters, checkpoints, logs and status hold the users' records: only their owner reaches them. The
    directory that an older version left open is closed."""
    (tmp_path / "app" / "topics").mkdir(parents=True, mode=0o755)
    state = StateDirectory(tmp_path, "app")
    with state.locked(ACCESS["owner"]):
        Control(state, lambda request: None).close()
        state.clear()
        assert _modes(state) == dict.fromkeys(
            ("app", "topics", "checkpoints", "status", "logs", "tmp", "control"), 0o700
        )  # fmt: skip


def test_a_group_may_read_the_state_but_give_no_orders(tmp_path: Path) -> None:
    """When settings say so. A command that takes the lock later leaves it so, and a directory whose group is inherited
    keeps that."""
    (tmp_path / "app").mkdir(mode=0o755)
    (tmp_path / "app").chmod(0o2755)
    state = StateDirectory(tmp_path, "app")
    for mode in (ACCESS["group"], None):
        with state.locked(mode):
            Control(state, lambda request: None).close()
            state.clear()
            modes = {name: mode & 0o777 for name, mode in _modes(state).items()}
            assert modes == dict.fromkeys(("app", "topics", "checkpoints", "status", "logs"), 0o750) | {
                "tmp": 0o750, "control": 0o700,
            }  # fmt: skip
            assert state.directory.stat().st_mode & stat.S_ISGID
    with state.locked(ACCESS["owner"]):
        assert _modes(state)["topics"] & 0o777 == 0o700
