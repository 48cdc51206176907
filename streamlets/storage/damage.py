"""The error for a file of the state directory that is missing, incomplete, or from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from streamlets.storage import objects

Content = TypeVar("Content")


class DamagedFileError(Exception):
    """A file is missing, incomplete, or belongs elsewhere. The message has the file, its effects, and the ways out."""


def read_whole(path: Path, parse: Callable[[bytes], Content], what: str, remedy: str) -> Content | None:
    """Return the content of a file; None if there is none.

    Arguments:
        path: the file.
        parse: returns the content from the bytes; raises one of the usual errors if they are something else.
        what, remedy: as for `damaged`.

    Raises:
        DamagedFileError: the file is damaged.
    """
    data = objects.read(path)
    if data is None:
        return None
    try:
        return parse(data)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise damaged(what, path, data, remedy) from None


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
