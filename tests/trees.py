"""What is below a directory, to compare before and after a call that must change nothing there."""

from __future__ import annotations

import os
from pathlib import Path


def content(directory: Path) -> dict[str, bytes]:
    """Return the bytes of each file below a directory by its path, the target of each link, and "/" for directories.

    Compiled modules of Python are omitted.
    """
    found = {}
    for path in directory.rglob("*"):
        if "__pycache__" in path.parts:
            continue
        kept = os.fsencode(path.readlink()) if path.is_symlink() else b"/" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(directory))] = kept
    return found
