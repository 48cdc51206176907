"""Replacing files atomically: a reader sees the old or the new content, never a part."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(file: Path, text: str, *, durable: bool = False, private: bool = False) -> None:
    """Replace the content of a file atomically: a reader sees the old or the new text, never a part.

    Arguments:
        file: the path of the file.
        text: the new content.
        durable: whether the new content also survives a power failure, which costs a sync.
        private: whether only the user may read the file.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        mode = 0o600 if private else 0o666
        with open(draft, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            stream.write(text)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def replace_file(file: Path, data: bytes) -> None:
    """Replace the content of a file, or of the file that a link points to, atomically; its permissions are kept.

    Raises:
        OSError: the file cannot be written; it is unchanged.
    """
    file = file.resolve()
    handle, draft = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o666 & ~_umask()
        Path(draft).chmod(mode)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the umask of the process, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
