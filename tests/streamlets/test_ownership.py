"""Which directories are trusted: those that no other user can replace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streamlets.ownership import TRUSTED, NotTrustedError, read_own, require_trusted
from tests.crossings.other_user import NOBODY, made_by_nobody, only_as_root


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """Return a directory that all users can enter, below one that only this user can enter, and make that one open."""
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and not directory.stat().st_mode & 0o001:
            directory.chmod(0o711)
    return tmp_path


def _directory(path: Path, mode: int = 0o755) -> Path:
    path.mkdir()
    path.chmod(mode)
    return path


def test_own_directories_are_trusted(public: Path) -> None:
    """So is what does not exist yet, and what is in a directory that a group can write to, or that is shared by all."""
    require_trusted(public / "new" / "newer")
    require_trusted(_directory(public / "open", 0o755))
    require_trusted(_directory(_directory(public / "group", 0o2775) / "state", 0o700))
    require_trusted(_directory(_directory(public / "shared", 0o1777) / "state", 0o700))
    (public / "link").symlink_to("open/../shared/state")
    require_trusted(public / "link")


def test_a_directory_in_which_all_can_rename_is_refused(public: Path) -> None:
    """Everybody could put another one in its place; not if they cannot reach it."""
    shared = _directory(public / "shared", 0o777)
    for directory in (shared, shared / "new", _directory(shared / "state", 0o700)):
        with pytest.raises(NotTrustedError, match=f"all users of this machine can replace what is in {shared}$"):
            require_trusted(directory)
    public.chmod(0o700)
    require_trusted(shared / "state")


def test_a_variable_exempts_directories(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For containers with one user, and file systems without owners."""
    shared = _directory(public / "shared", 0o777)
    monkeypatch.setenv(TRUSTED, f"/elsewhere:{shared}")
    require_trusted(shared / "state")
    with pytest.raises(NotTrustedError):
        require_trusted(_directory(public / "shared2", 0o777))


@only_as_root
@pytest.mark.parametrize("kind", ["directory", "link", "link on the way", "in a shared directory"])
def test_what_another_user_made_is_refused(public: Path, kind: str) -> None:
    """The message names what is his, and him."""
    mine = _directory(public / "mine", 0o700)
    shared = _directory(public / "shared", 0o1777)
    path = made = public / "his"
    match kind:
        case "directory":
            made_by_nobody(_directory(made))
        case "link":
            made.symlink_to(mine)
            made_by_nobody(made)
        case "link on the way":
            made.symlink_to(public)
            made_by_nobody(made)
            path = made / "mine"
        case _:
            made = made_by_nobody(_directory(shared / "his"))
            path = made / "new"
    with pytest.raises(NotTrustedError, match=f"{made} belongs to the user `nobody`$"):
        require_trusted(path)


@only_as_root
def test_parents_may_belong_to_others(public: Path) -> None:
    """A container runs as root in a directory of the user outside, who owns the code, too."""
    require_trusted(_directory(made_by_nobody(_directory(public / "project")) / ".flow", 0o700))


@only_as_root
def test_root_is_trusted_by_all(public: Path) -> None:
    """Who runs an application must trust root, who can do everything anyway."""
    state = made_by_nobody(_directory(_directory(public / "of-root") / "state"))
    os.seteuid(NOBODY)
    try:
        require_trusted(state)
        require_trusted(public / "of-root")
        assert read_own(Path("/etc/hostname"))
    finally:
        os.seteuid(0)


@only_as_root
def test_a_file_of_another_user_is_not_read(public: Path) -> None:
    """Neither are links, and what is not a file: reading a pipe would never end."""
    (public / "his").write_text("{}")
    made_by_nobody(public / "his")
    (public / "link").symlink_to("/etc/hostname")
    os.mkfifo(public / "pipe")
    with pytest.raises(NotTrustedError, match="belongs to the user `nobody`"):
        read_own(public / "his")
    with pytest.raises(OSError, match="symbolic links"):
        read_own(public / "link")
    with pytest.raises(NotTrustedError, match="is not an ordinary file"):
        read_own(public / "pipe")


def test_a_link_to_itself_is_refused(public: Path) -> None:
    """It does not keep the check busy for ever."""
    (public / "loop").symlink_to("loop")
    with pytest.raises(NotTrustedError, match="leads to itself"):
        require_trusted(public / "loop" / "state")
