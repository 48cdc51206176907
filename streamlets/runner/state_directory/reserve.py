"""Reserved disk space for a file that must be written even when the disk is full."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from streamlets.storage.files import write_atomically

_FULL = (errno.ENOSPC, errno.EDQUOT)
_LEAST = 16 * 1024


class ReservedFile:
    """A text file that can be replaced again and again, also on a full disk.

    Two reserve files in the same directory keep disk blocks for it. While the disk has space, the text is written to a
    new file, and the reserve files only grow with it. When the disk is full, the text is written in place into one of
    the reserve files, alternately, and padded with blanks; the file then becomes a hard link to it.
    File systems that never write in place (Btrfs, ZFS) cannot reserve space: on a full disk the old text stays.

    Arguments:
        file: the file; its directory must exist when it is first written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rooms = [file.with_name(f".{file.name}.room{n}") for n in (1, 2)]

    def write(self, text: str) -> None:
        """Replace the text atomically: a reader sees the old or the new text, never a part.

        Raises:
            OSError: the text cannot be written and does not fit in the reserve; the old text stays.
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
