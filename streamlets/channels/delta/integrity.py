"""The integrity of a table's log: its versions have no gaps since the last checkpoint, and commits are complete.

A reader and a writer look only for the next commit, which costs one look for one file. If that commit is missing
although later ones exist, they would find nothing new for ever. So the log is listed when a table is opened, and then
once in a while; a writer also looks at the neighbours of its commit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from streamlets.channels.base import TopicDamagedError
from streamlets.storage import objects

LOG = "_delta_log"
POINTER = "_last_checkpoint"
EMPTY_COMMIT = '{"commitInfo":{}}'
"""The content of a commit without records, which takes the place of one that cannot be restored."""

_CHECKPOINT = ".checkpoint.parquet"


def commit_path(table: Path, version: int) -> Path:
    """Return the path of the commit of a version."""
    return table / LOG / f"{version:020}.json"


def checkpoint_path(table: Path, version: int) -> Path:
    """Return the path of the checkpoint of a version."""
    return table / LOG / f"{version:020}{_CHECKPOINT}"


def last_checkpoint(table: Path) -> int:
    """Return the version of the last checkpoint of a table, 0 if it has none.

    The file that names it is only a shortcut. If it is missing or damaged, or names a checkpoint that does not exist,
    the log is listed.
    """
    pointer = objects.read(table / LOG / POINTER)
    try:
        version = int(json.loads(pointer)["version"]) if pointer is not None else 0
    except (ValueError, KeyError, TypeError):
        version = 0
    if version and checkpoint_path(table, version).exists():
        return version
    return max(_versions(table, _CHECKPOINT), default=0)


def has_commits(table: Path) -> bool:
    """Return whether there is anything of a table but its first commit, which is created before everything else."""
    return (table / "data").is_dir() or bool(_versions(table, ".json"))


def check_dense(table: Path, version: int) -> None:
    """Check that no commit after a version is missing, except those before the last checkpoint.

    Raises:
        TopicDamagedError: a commit is missing.
    """
    found = {number for number in _versions(table, ".json") if number > version}
    missing = [number for number in range(version + 1, max(found, default=0)) if number not in found]
    # A commit may be created, and the log cleaned, while the directory is listed.
    missing = [number for number in missing if not commit_path(table, number).exists()]
    if missing and missing[-1] > (checkpoint := last_checkpoint(table)):
        first = next(number for number in missing if number > checkpoint)
        last = next(number for number in range(first, max(found) + 1) if number + 1 not in missing)
        raise missing_commits(table, first, last)


def require_commit(table: Path, version: int) -> None:
    """Check that the commit of a version exists, or was cleaned after a checkpoint.

    Raises:
        TopicDamagedError: the commit is missing.
    """
    if not commit_path(table, version).exists() and version > last_checkpoint(table):
        raise missing_commits(table, version, version)


def damaged_commit(table: Path, version: int, reason: str) -> TopicDamagedError:
    """Return the error for a commit that exists but cannot be used.

    Arguments:
        table: the directory of the table.
        version: the version of the commit.
        reason: what is wrong with it, such as `it is empty`.
    """
    path = commit_path(table, version)
    return TopicDamagedError(
        f"topic `{table.parent.name}` is damaged: commit {version} of the table `{table.name}` cannot be read, because "
        f"{reason} ({path}); {_affected(table, version, version)}; {_ways_out(table, version)}"
    )


def damaged_file(topic: Path, file: Path, reason: str, remedy: str) -> TopicDamagedError:
    """Return the error for another file of a topic that cannot be used.

    Arguments:
        topic: the directory of the topic.
        file: the path of the file.
        reason: what is wrong with it, such as `it is empty`.
        remedy: what to do, if it cannot be restored from a backup.
    """
    return TopicDamagedError(
        f"topic `{topic.name}` is damaged: {reason} ({file}); restore the file from a backup; otherwise {remedy}"
    )


def missing_commits(table: Path, first: int, last: int) -> TopicDamagedError:
    """Return the error for the missing commits of a table, from the version `first` to `last`."""
    commits = f"commit {first}" if first == last else f"commits {first} to {last}"
    verb = "is" if first == last else "are"
    return TopicDamagedError(
        f"topic `{table.parent.name}` is damaged: {commits} of the table `{table.name}` {verb} missing "
        f"({commit_path(table, first)}); {_affected(table, first, last)}; {_ways_out(table, first)}"
    )


def _affected(table: Path, first: int, last: int) -> str:
    before = next(filter(None, (_time(table, number) for number in range(first - 1, -1, -1))), "")
    after = _time(table, last + 1)
    span = f"between {before} and {after}" if before and after else f"after {before}" if before else ""
    return f"this affects the records that were committed {span}".rstrip() if span else "their number is not known"


def _time(table: Path, version: int) -> str:
    """Return when a version was committed, for display; "" if that is not known."""
    data = objects.read(commit_path(table, version)) or b""
    try:
        time = json.loads(data.splitlines()[0])["commitInfo"]["timestamp"] / 1000
    except (ValueError, KeyError, TypeError, IndexError):
        return ""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _ways_out(table: Path, version: int) -> str:
    if version == 0:
        return "restore the file from a backup, or delete all topics and checkpoints with `flow run --fresh`"
    return (
        f"restore the file from a backup; to continue without these records, write the line `{EMPTY_COMMIT}` to it; "
        "or delete all topics and checkpoints with `flow run --fresh`"
    )


def _versions(table: Path, suffix: str) -> Iterable[int]:
    """Return the versions that have a file with a suffix in the log, in any order."""
    try:
        with os.scandir(table / LOG) as entries:
            names = [entry.name for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [int(name[: -len(suffix)]) for name in names if name.endswith(suffix) and name[: -len(suffix)].isdigit()]
