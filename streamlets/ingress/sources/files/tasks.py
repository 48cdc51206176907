"""`FileTasks`: the files of a path as tasks, and the values that their paths give to their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from blueprint.avro.model import Contract
from streamlets.ingress.batch_sources.context import Eat
from streamlets.ingress.sources.records import converted
from streamlets.ingress.spouts.cells import cell_value
from streamlets.ingress.triggerers.files import FileChangedError, FileVersion, file_stats

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class FileTasks:
    """Discovers files, each once in each version.

    Arguments:
        path: an absolute path of a directory or a pattern.
        settle: seconds for which a file must be unchanged.
        sleep: waits a number of seconds.
    """

    def __init__(self, path: Path, settle: float, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path, self._settle, self._sleep = path, settle, sleep
        self._passed: dict[str, tuple[int, int]] = {}

    def discover(self, eat: Eat) -> None:
        """Pass the settled files that this instance has not passed; others have known keys."""
        present, recent = self._look(), set[str]()
        news = {path: version for path, (version, _) in present.items() if self._passed.get(path) != version}
        if self._settle:
            since = time.time() - self._settle
            recent = {path for path in news if present[path][1] > since}
        if recent:
            self._sleep(self._settle)
            later = self._look()
            unsettled = {path for path in recent if path not in later or later[path][0] != news[path]}
            news = {path: version for path, version in news.items() if path not in unsettled}
        for path in sorted(news):
            size, modified = news[path]
            file = FileVersion(path, size, modified)
            eat(file.to_task(), key=file.key)
        known = {path: version for path, version in self._passed.items() if path in present}
        self._passed = known | news

    def _look(self) -> dict[str, tuple[tuple[int, int], float]]:
        """Return the version of each file, and when it or its attributes changed, in seconds since the epoch."""
        return {
            path: ((found.st_size, found.st_mtime_ns), max(found.st_mtime, found.st_ctime))
            for path, found in file_stats(self._path)
        }


def is_superseded(version: FileVersion) -> bool:
    """Return whether the file has another version, which a discovery passes as another task.

    Raises:
        FileChangedError: it was deleted, so that its records are lost.
    """
    try:
        return FileVersion.of(Path(version.path)) != version
    except FileNotFoundError:
        raise FileChangedError(f"`{version.path}` was deleted before it was read") from None


def given_values(version: FileVersion, options: Mapping[str, Any], contract: Contract, root: Path) -> dict[str, object]:
    """Return the values of a file's records that do not come from its content.

    Arguments:
        version: the file.
        options: the options of the source.
        contract: the contract of the outlet.
        root: the directory above the directories of partitions.

    Raises:
        RecordError: a column cannot have the value in the path.
    """
    values: dict[str, object] = {}
    if options["partitions"]:
        names = {field.name for field in contract.record.fields}
        for name, value in partition_values(Path(version.path), root).items():
            if name in names:
                values[name] = partition_value(name, value, contract)
    if column := options.get("file-column"):
        values[column] = converted(str(column), version.path, contract)
    if column := options.get("time-column"):
        name = str(column)
        values[name] = converted(name, datetime.fromtimestamp(version.modified / 1e9, UTC), contract)
    return values


def partition_values(file: Path, root: Path) -> dict[str, str | None]:
    """Return the values in the names of directories, as Hive and Spark write them: `day=2026-01-31`.

    Arguments:
        file: the path of a file.
        root: the directory above.
    """
    below = file.parent.relative_to(root).parts if file.parent.is_relative_to(root) else ()
    pairs = (part.split("=", 1) for part in below if "=" in part)
    return {
        name: None if value == _NULL_PARTITION else unquote(value, errors="surrogateescape") for name, value in pairs
    }


def partition_value(name: str, value: str | None, contract: Contract) -> object:
    """Return the value of a partition in the form of the contract.

    Raises:
        RecordError: the column cannot have it.
    """
    (field,) = (field for field in contract.record.fields if field.name == name)
    return converted(name, None if value is None else cell_value(value, field.schema, contract), contract)
