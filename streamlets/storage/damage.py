"""The error for a file of the state directory that is missing, incomplete, or from elsewhere."""

from __future__ import annotations

from pathlib import Path


class DamagedFileError(Exception):
    """A file is missing, incomplete, or belongs elsewhere. The message has the file, its effects, and the ways out."""


def unreadable(data: bytes | None) -> str:
    """Return why the content of a JSON file, None for a missing one, cannot be used, for the end of a sentence."""
    if data is None:
        return "missing"
    return "incomplete, or not what it should be" if data.strip() else "empty"


def damaged(what: str, file: Path, data: bytes | None, remedy: str) -> DamagedFileError:
    """Return the error for a JSON file that cannot be used.

    Arguments:
        what: what the file is, such as `the manifest of batch 3`.
        file: its path.
        data: its content; None if it is missing.
        remedy: what to do, if it cannot be restored from a backup.
    """
    return DamagedFileError(
        f"{what} is {unreadable(data)} ({file}); restore the file from a backup; otherwise {remedy}"
    )
