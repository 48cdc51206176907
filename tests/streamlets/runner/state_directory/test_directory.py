"""The state directory: a single owner, an atomic status file, deletion of the state, access."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from streamlets.runner.state_directory.control import Control
from streamlets.runner.state_directory.directory import (
    ACCESS,
    StateDirectory,
    StateError,
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


def test_a_second_owner_gets_an_error_with_the_process_of_the_first(tmp_path: Path) -> None:
    """The error names the process that owns the directory, and a way out."""
    owner = _owner(tmp_path)
    try:
        expected = pytest.raises(StateError, match=f"already running on .*app, as process {owner.pid}$")
        with expected as caught, StateDirectory(tmp_path, "app").locked():
            pass
        assert "--state-dir" in caught.value.help
    finally:
        owner.kill()
        owner.communicate()


def test_the_lock_is_released_when_its_owner_is_killed(tmp_path: Path) -> None:
    """After `kill -9` of the owner the directory can be locked at once, and its temporary files are deleted."""
    owner = _owner(tmp_path)
    (tmp_path / "app" / "tmp" / "left").touch()
    owner.kill()
    owner.communicate()
    state = StateDirectory(tmp_path, "app")
    with state.locked():
        assert list(state.scratch.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    """A state directory below a file cannot be created."""
    (tmp_path / "root").write_text("")
    expected = pytest.raises(StateError, match=r"cannot write to the state directory .*root/app")
    with expected, StateDirectory(tmp_path / "root", "app").locked():
        pass


def test_clear_deletes_topics_and_checkpoints_but_not_logs(tmp_path: Path) -> None:
    """Empty directories and the logs remain."""
    state = StateDirectory(tmp_path, "app")
    with state.locked():
        (state.topics / "readings").mkdir()
        (state.checkpoints / "a").mkdir()
        (state.logs / "run.log").write_text("kept")
        assert state.holds_anything()
        state.clear()
        assert not state.holds_anything()
        assert (state.logs / "run.log").read_text() == "kept"


def _modes(state: StateDirectory) -> dict[str, int]:
    return {
        directory.name: stat.S_IMODE(directory.stat().st_mode)
        for directory in (state.directory, *state.directory.iterdir()) if directory.is_dir()
    }  # fmt: skip


def test_only_the_user_can_read_the_state_by_default(tmp_path: Path) -> None:
    """Topics, dead letters, checkpoints, logs and status contain records. Directories that an older version left
    accessible to others are closed."""
    (tmp_path / "app" / "topics").mkdir(parents=True, mode=0o755)
    state = StateDirectory(tmp_path, "app")
    with state.locked(ACCESS["owner"]):
        Control(state, lambda request: None).close()
        state.clear()
        assert _modes(state) == dict.fromkeys(
            ("app", "topics", "checkpoints", "status", "logs", "tmp", "control"), 0o700
        )  # fmt: skip


def test_the_group_can_read_the_state_but_not_send_requests_if_so_configured(tmp_path: Path) -> None:
    """A command that locks the directory later keeps the modes, and the setgid bit is kept, too."""
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
