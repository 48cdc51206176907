"""Who can change what is at a path: the owners of the directories and links on the way to it, and their modes.

A directory in a place that everybody can write to, such as `/tmp`, may have been made by another user, who can replace
what is in it at any time.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

TRUSTED = "STREAMLETS_TRUSTED_DIRECTORIES"
"""The environment variable with directories, separated by `:`, in and below which nothing is checked: for file systems
without real owners, and for containers with a single user."""

_ROOT = 0
_MOST_LINKS = 40


class NotTrustedError(Exception):
    """Another user can change what is at a path; the message names the path and says why."""


def require_trusted(directory: Path) -> None:
    """Require that only this user and root can replace a directory, or what is in it.

    The directory and each link on the way to it must belong to one of them, and so must a directory in one that
    everybody can write to. No directory on the way may be writable by everybody, unless it has the sticky bit or
    others cannot enter one above it. Other directories on the way may belong to other users. What does not exist yet is
    not judged.

    Raises:
        NotTrustedError: another user can.
        OSError: a directory on the way cannot be entered.
    """
    if _is_exempt(directory):
        return
    root = Path(directory.absolute().anchor)
    way = [(root, root.lstat())]
    rest, links = list(directory.absolute().parts[1:]), 0
    while rest:
        name, above = rest.pop(0), way[-1]
        if name == "..":
            del way[max(1, len(way) - 1) :]
            continue
        path = above[0] / name
        try:
            status = path.lstat()
        except FileNotFoundError:
            return
        if stat.S_ISLNK(status.st_mode):
            require_owner(path, status)
            target, links = path.readlink(), links + 1
            if links > _MOST_LINKS:
                raise NotTrustedError(f"{directory} is a link that leads to itself")
            rest = [*target.parts[target.is_absolute() :], *rest]
            del way[1 if target.is_absolute() else len(way) :]
            continue
        if not rest or _all_can_write(above[1]):
            require_owner(path, status)
        if _all_can_replace(status) and all(passed.st_mode & stat.S_IXOTH for _, passed in way):
            raise NotTrustedError(f"all users of this machine can replace what is in {path}")
        way.append((path, status))


def require_owner(path: Path, status: os.stat_result) -> None:
    """Require that a file, directory or link belongs to this user or to root.

    Arguments:
        path: for the message.
        status: the status of what was opened, or found there.

    Raises:
        NotTrustedError: it belongs to another user.
    """
    if status.st_uid not in (os.geteuid(), _ROOT) and not _is_exempt(path):
        kind = "the link " if stat.S_ISLNK(status.st_mode) else ""
        raise NotTrustedError(f"{kind}{path} belongs to {user_name(status.st_uid)}")


def read_own(file: Path) -> str:
    """Return the text of a file of this user or of root. A link is not followed.

    Raises:
        NotTrustedError: the file belongs to another user, or is not an ordinary one.
        OSError: it cannot be read.
        UnicodeDecodeError: it is not text.
    """
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, encoding="utf-8") as stream:
        status = os.fstat(stream.fileno())
        require_owner(file, status)
        if not stat.S_ISREG(status.st_mode):
            raise NotTrustedError(f"{file} is not an ordinary file")
        return stream.read()


def user_name(user: int) -> str:
    """Return a user as a noun for messages."""
    try:
        return f"the user `{pwd.getpwuid(user).pw_name}`"
    except KeyError:  # the user of a container may have no name
        return f"the user {user}"


def _all_can_write(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_IWOTH)


def _all_can_replace(status: os.stat_result) -> bool:
    return _all_can_write(status) and not status.st_mode & stat.S_ISVTX


def _is_exempt(path: Path) -> bool:
    exempt = [entry for entry in os.environ.get(TRUSTED, "").split(os.pathsep) if entry]
    return any(path.absolute().is_relative_to(entry) for entry in exempt)
