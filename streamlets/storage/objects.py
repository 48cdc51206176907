"""The storage operations of a transaction log, implemented for files of a local or mounted file system.

In another storage, `put_if_absent` must be atomic; object stores have conditional writes for it.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from streamlets.storage.crash import crash_point


def put_if_absent(path: Path, data: bytes) -> bool:
    """Create a file with this content, completely or not at all; return False if another writer has created it.

    A hard link fails when its name exists, which a rename does not, so of two writers exactly one wins. An error does
    not prove that the link was not created: a network file system repeats a request whose answer was lost, and the
    repetition finds that the name exists. So after each error the file is compared with the one that was to be linked.
    In a storage without links, the content must have a token of the attempt, and is read back.

    Raises:
        FileNotFoundError: the directory does not exist.
        OSError: the file was not created, or that cannot be found out. The caller must not delete what the content
            refers to, before it has read what exists.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        _write(temporary, data)
        crash_point("during-rename")
        try:
            os.link(temporary, path)
        except FileExistsError:
            return _same(temporary, path)
        except OSError:
            if not _same(temporary, path):
                raise
        return True
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _same(one: Path, other: Path) -> bool:
    """Return whether two names belong to the same file.

    Raises:
        OSError: that cannot be found out.
    """
    try:
        return os.path.samestat(one.stat(), other.stat())
    except FileNotFoundError:
        return False


def move_if_absent(source: Path, target: Path) -> bool:
    """Move a file to another directory of its file system; return False if another file has the name.

    A move that was interrupted, or whose success a server did not report, is completed.

    Raises:
        FileNotFoundError: neither of the two exists.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        if not source.samefile(target):
            return False
    except FileNotFoundError:
        if not target.exists():
            raise
    source.unlink(missing_ok=True)
    return True


def sync_names(directory: Path) -> None:
    """Make the names of the files that were created in a directory durable, which syncing a file does not."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(path: Path, data: bytes) -> None:
    """Replace the content of a file in one step, or create the file."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        _write(temporary, data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def identity(path: Path) -> tuple[int, int, int] | None:
    """Return the identity of a file, which differs for a later one with its name; None if it does not exist."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
