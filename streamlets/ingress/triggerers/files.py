"""`files`: discoveries when files of a directory or of a pattern are new or have changed."""

from __future__ import annotations

import errno
import fnmatch
import glob
import json
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blueprint.catalog import ParameterType
from streamlets.ingress.triggerers.base import Trigger, TriggererContext, TriggererOption, TriggererProblem
from streamlets.ingress.triggerers.options import missing_strings, seconds_of, unknown_keys

_INTERVAL = TriggererOption(
    name="interval",
    description="the time between two looks",
    type=ParameterType.DURATION,
    default="10 seconds",
)
_MOST_NAMED = 1000
"""The number of files that an event names; it counts the others."""


_Version = tuple[int, int]
"""The size of a file in bytes, and when it was modified in nanoseconds since the epoch."""


class FileChangedError(Exception):
    """A file changed after it had been discovered."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file with a content: a task of a source that reads files, and the key of the task.

    Arguments:
        path: the path of the file.
        size: its size in bytes.
        modified: when it was modified, in nanoseconds since the epoch.
    """

    path: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileVersion:
        """Return the present version of a file.

        Raises:
            OSError: it cannot be examined.
        """
        found = path.stat()
        return cls(str(path), found.st_size, found.st_mtime_ns)

    @classmethod
    def from_task(cls, task: Mapping[str, Any]) -> FileVersion:
        """Return the version that `to_task` described."""
        return cls(str(task["path"]), int(task["size"]), int(task["modified"]))

    def to_task(self) -> dict[str, object]:
        """Return the version as a task."""
        return {"path": self.path, "size": self.size, "modified": self.modified}

    @property
    def key(self) -> str:
        """The identity of this version of the file."""
        return f"{self.path}@{self.modified}.{self.size}"

    def require_unchanged(self) -> None:
        """Require that the file still has this content. Call it before the first record of the file and after the last.

        Raises:
            FileChangedError: it was changed or deleted.
        """
        try:
            now = FileVersion.of(Path(self.path))
        except OSError as error:
            raise FileChangedError(f"`{self.path}` can no longer be read: {error.strerror}") from None
        if now != self:
            raise FileChangedError(f"`{self.path}` changed after it was discovered")


def file_stats(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and the attributes of each file of a directory or pattern, as `matching_files` finds them, in any
    order.

    A directory with 100,000 files takes half a second. Files that are deleted meanwhile are omitted.

    Arguments:
        path: as for `matching_files`.

    Raises:
        OSError: a directory cannot be listed.
    """
    pattern = "*" if path.is_dir() else path.name
    directory = path if path.is_dir() else path.parent
    if "**" in path.parts or glob.has_magic(str(directory)):
        for file in matching_files(path):
            with suppress(FileNotFoundError):
                yield str(file), file.stat()
        return
    matches = re.compile(fnmatch.translate(pattern)).match
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not matches(entry.name):
                continue
            try:
                found = entry.stat()
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ELOOP):  # deleted, or a link that leads nowhere
                    raise
            else:
                if stat.S_ISREG(found.st_mode):
                    yield entry.path, found


def matching_files(path: Path) -> list[Path]:
    """Return the files of a directory or pattern, sorted, without names that begin with a dot.

    Arguments:
        path: a directory, or a path with `*`, `?`, `[...]` or `**`, which does not follow links to directories.
    """
    found = path.iterdir() if path.is_dir() else _matches(Path(path.anchor), path.relative_to(path.anchor).parts)
    return sorted({file for file in found if not file.name.startswith(".") and file.is_file()})


def _matches(directory: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield the paths below a directory that match the parts of a pattern, some several times.

    `*`, `?` and `[...]` do not match names that begin with a dot, and neither does `**`.
    """
    part, *rest = parts
    if part == "**":
        yield from _matches(directory, rest or ["*"])
        for entry in _entries(directory):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _matches(directory / entry.name, parts)
        return
    if not glob.has_magic(part):
        matching = [part]
    else:
        is_match, hidden = re.compile(fnmatch.translate(part)).match, part.startswith(".")
        names = (entry.name for entry in _entries(directory))
        matching = [name for name in names if (hidden or not name.startswith(".")) and is_match(name)]
    for name in matching:
        if not rest:
            yield directory / name
        elif (directory / name).is_dir():
            yield from _matches(directory / name, rest)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a directory; none if it cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


class FilesTriggerer:
    """Calls for a discovery when files are new or have changed, including files that exist when the source starts.

    A file counts once it has the same size and time of modification in two successive looks, so that files that are
    being written are left alone. The event is a JSON object: `files` has the paths, up to 1,000 of them, and `count`
    their number.
    """

    options = (
        TriggererOption(
            name="path", description="a directory or a pattern of files", required=True, example="data/*.csv"
        ),
        _INTERVAL,
    )

    _path: Path
    _interval: float
    _context: TriggererContext

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._reported: dict[str, _Version] = {}
        self._previous: dict[str, _Version] = {}

    def problems(self, config: Mapping[str, Any], context: TriggererContext) -> Iterator[TriggererProblem]:
        """Yield problems with the configuration."""
        yield from unknown_keys(config, self.options)
        lacking = tuple(missing_strings(config, self.options))
        yield from lacking
        try:
            seconds_of(config, _INTERVAL)
        except ValueError as error:
            yield TriggererProblem("interval", str(error), ("such as `10 seconds`",))
        if not lacking and "://" in config["path"]:
            help = ("mount the storage, and write the path below which it is", "`http://` needs the source `http`")
            yield TriggererProblem("path", f"`{config['path']}` is not a path of this machine", help)
        elif not lacking and not directory_of(_absolute(config, context)).is_dir():
            message = f"there is no directory `{directory_of(Path(config['path']))}`"
            yield TriggererProblem("path", message, ("create it, or correct the path",))

    def init(self, config: Mapping[str, Any], context: TriggererContext) -> None:
        """Take the path.

        Raises:
            ValueError: the configuration is invalid.
        """
        for problem in self.problems(config, context):
            raise ValueError(problem.message)
        self._path, self._interval = _absolute(config, context), seconds_of(config, _INTERVAL)
        self._context = context

    def start(self, trigger: Trigger) -> None:
        """Begin to look at the files."""
        self._context.run_in_thread(lambda: self._run(trigger), "files")

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()

    def _run(self, trigger: Trigger) -> None:
        while not self._stopping.is_set():
            self.look(trigger)
            if not self._context.clock.wait(self._interval, self._stopping):
                return

    def look(self, trigger: Trigger) -> None:
        """Look at the files once. Changes whose trigger is dropped are reported again after the next look."""
        try:
            present = dict(self._versions())
        except OSError:  # the directory cannot be listed at present: what was in it is not new when it can be
            return
        changed = sorted(
            path
            for path, version in present.items()
            if self._previous.get(path) == version and self._reported.get(path) != version
        )
        self._previous = present
        self._reported = {path: version for path, version in self._reported.items() if path in present}
        event = json.dumps({"count": len(changed), "files": changed[:_MOST_NAMED]})
        if changed and trigger(event):
            self._reported |= {path: present[path] for path in changed}

    def _versions(self) -> Iterator[tuple[str, _Version]]:
        directory_of(self._path).stat()  # a pattern would match nothing there, without an error
        for path, found in file_stats(self._path):
            yield path, (found.st_size, found.st_mtime_ns)


def _absolute(config: Mapping[str, Any], context: TriggererContext) -> Path:
    return (context.directory / Path(str(config["path"])).expanduser()).absolute()


def directory_of(path: Path) -> Path:
    """Return the directory before the first pattern of a path; of a file without a pattern, its directory."""
    if path.is_file():
        return path.parent
    parts = path.parts
    first = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:first])
