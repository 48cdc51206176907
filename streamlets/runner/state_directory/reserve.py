"""Room on the disk for a file that must still be told when the disk is full."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from streamlets.runner.state_directory.directory import write_atomically

_FULL = (errno.ENOSPC, errno.EDQUOT)
_LEAST = 16 * 1024


class ReservedFile:
    """A text file that is replaced over and over, also on a full disk.

    Two files of the same folder hold its room. While there is space the text goes to a file of its own and
    the room is only made large enough; when there is none the text is written into the one and the other of them,
    in blocks that they have, and the file becomes a second name of it. What is left of the room is filled with blanks.
    File systems that never write in place (Btrfs, ZFS) give no such room: there the old text stays.

    Arguments:
        file: the file; its folder is there by the first writing.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rooms = [file.with_name(f".{file.name}.room{n}") for n in (1, 2)]

    def write(self, text: str) -> None:
        """Replace the text; a reader sees the old or the new one, never a part.

        Raises:
            OSError: it cannot be written, nor is there room enough; the old text stays.
        """
        try:
            write_atomically(self._file, text)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self._write_into_room(text.encode())
        else:
            with suppress(OSError):
                self._make_room(len(text.encode()))

    def _make_room(self, needed: int) -> None:
        for room in self._rooms:
            file = os.open(room, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                if os.fstat(file).st_size < needed:
                    os.posix_fallocate(file, 0, max(_LEAST, 2 * needed))
            finally:
                os.close(file)

    def _write_into_room(self, text: bytes) -> None:
        room = next(room for room in self._rooms if not _same(room, self._file))
        with room.open("r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if len(text) > size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._file))
            file.write(text.rstrip(b"\n").ljust(size - 1) + b"\n")
        name = room.with_name(f"{room.name}.name")
        name.unlink(missing_ok=True)
        name.hardlink_to(room)
        name.replace(self._file)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except FileNotFoundError:
        return False
