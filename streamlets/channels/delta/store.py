"""Where a topic's logs lie: the few operations a log needs of its storage. Today a local (or mounted) file system.

Another storage needs one thing only that is not obvious: `put_if_absent` must be atomic (object stores have
conditional writes for it).
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from streamlets.channels.crash import crash_point


def put_if_absent(path: Path, data: bytes) -> bool:
    """Make a file with this content, whole or not at all; False when there already is one.

    A hard link fails when its name exists, which a rename does not, so of two writers exactly one wins.

    Raises:
        FileNotFoundError: the folder is not there.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        _write(temporary, data)
        crash_point("during-rename")
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        return True
    finally:
        temporary.unlink(missing_ok=True)


def replace(path: Path, data: bytes) -> None:
    """Give a file this content in one step, whether it was there or not."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        _write(temporary, data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> bytes | None:
    """The content of a file; None when it is not there."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def identity(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from another one that took its name later; None when it is not there."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
