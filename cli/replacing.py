"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def replace_file(file: Path, data: bytes) -> None:
    """Put `data` in the place of a file (of what it links to), whole or not at all; its permissions stay.

    Raises:
        OSError: it cannot be written; then it is as it was.
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
    """The process's mask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
