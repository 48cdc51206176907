"""The check that a state directory belongs to its user: only then nobody else controls the application."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlets.ownership import TRUSTED, NotTrustedError, require_owner, require_trusted, user_name

_CHECKPOINTS = "checkpoints"


class StateError(Exception):
    """The state directory cannot be used; `help` is what to do about it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def require_own_place(directory: Path) -> None:
    """Require that the state directory of an application, if there is one, is not from another user, except root.

    Arguments:
        directory: of the application, `<state directory>/<application>`.

    Raises:
        StateError: another user made it, or can replace it.
    """
    with _refusing(directory):
        require_trusted(directory.parent)
        if directory.is_symlink() or directory.exists():
            require_owner(directory, directory.lstat())


def require_own_state(directory: Path) -> None:
    """Require that no other user, except root, made or can change the state directory of an application.

    Everything that changes the state, or that has the state decide what is run, calls this first. Commands that only
    read do not: with `flow.state-access = group` they read the state of others. Of the content the upper levels are
    looked at, and linked checkpoints; what is below, nobody else has reached since a run made them.

    Arguments:
        directory: of the application, `<state directory>/<application>`, which need not exist.

    Raises:
        StateError: another user made a part of it, or can change it.
    """
    require_own_place(directory)
    with _refusing(directory):
        require_trusted(directory)
        for entry in _entries(directory):
            require_owner(Path(entry), entry.stat(follow_symlinks=False))
            if entry.name == _CHECKPOINTS:
                _require_own_checkpoints(entry)


def _require_own_checkpoints(directory: os.DirEntry[str]) -> None:
    for streamlet in _entries(directory):
        require_owner(Path(streamlet), streamlet.stat(follow_symlinks=False))
        for query in _entries(streamlet):
            require_owner(Path(query), query.stat(follow_symlinks=False))
            if query.is_symlink():
                require_trusted(Path(query))


@contextmanager
def _refusing(directory: Path) -> Iterator[None]:
    try:
        yield
    except NotTrustedError as error:
        raise StateError(
            f"the state directory {directory} is not safe to use: {error}, and this command runs as "
            f"{user_name(os.geteuid())}",
            "choose a directory of your own with `--state-dir`, run the command as the owner, or correct the owner and "
            f"the mode with `chown` and `chmod`; if no other user can reach it, set `{TRUSTED}={directory.parent}`",
        ) from None
    except OSError as error:
        raise StateError(
            f"cannot read the state directory {directory}: {error.strerror or error}",
            "correct the permissions, or choose another state directory with `--state-dir`",
        ) from error


def _entries(directory: os.DirEntry[str] | Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a directory; none for what is not one."""
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return
