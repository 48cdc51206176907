"""Output files that are replaced atomically."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


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
