"""Snapshots of a topic: a directory with hard links to its files, which are never changed.

A snapshot has its own names of the files. So it takes no space as long as the topic has them, and keeps them when
maintenance or retention deletes them there. On another file system the files are copied.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from streamlets.channels.base import TopicDamagedError
from streamlets.channels.delta.integrity import LOG, checkpoint_path, commit_path, last_checkpoint
from streamlets.channels.delta.log import MARKER
from streamlets.channels.delta.log import topic_id as read_topic_id
from streamlets.channels.delta.table import Table, open_table
from streamlets.channels.delta.table_directory import tables_in

_ATTEMPTS = 5


def snapshot(topic: Path, directory: Path) -> None:
    """Make a directory with a topic as it is now.

    Arguments:
        topic: the directory of the topic.
        directory: the new directory; its parent exists.

    Raises:
        TopicLostError: the topic does not exist.
        TopicDamagedError: a file of the topic is missing or incomplete.
        OSError: the directory cannot be written.
    """
    read_topic_id(topic)
    draft = directory.with_name(f".{directory.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    _link(topic / MARKER, draft / MARKER)
    for table in tables_in(topic):
        _snapshot_table(table, draft / table.name)
    replays = topic / "_replays"
    for file in replays.rglob("*.json") if replays.is_dir() else ():
        _link(file, draft / file.relative_to(topic))
    draft.rename(directory)


def _snapshot_table(source: Path, target: Path) -> None:
    """Make a directory with a table. Maintenance may replace its files in the meantime; then the next attempt has the
    new ones.

    Raises:
        TopicDamagedError, OSError: as for `snapshot`.
    """
    for attempt in range(_ATTEMPTS):
        table = open_table(source, files=True)
        try:
            _link_table(table, target)
        except FileNotFoundError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            if set(open_table(target, files=True).files or {}) == set(table.files or {}):
                return
        shutil.rmtree(target)
    raise TopicDamagedError(f"the files of {source} change too often to be linked; call the command again")


def _link_table(table: Table, target: Path) -> None:
    (target / LOG).mkdir(parents=True)
    (target / "data").mkdir()
    for path in table.files or {}:
        _link(table.path / path, target / path)
    checkpoint = min(last_checkpoint(table.path), table.version)
    if checkpoint:
        _link(checkpoint_path(table.path, checkpoint), checkpoint_path(target, checkpoint))
    for version in (0, *range(checkpoint + 1, table.version + 1)):
        _link(commit_path(table.path, version), commit_path(target, version))


def _link(source: Path, target: Path) -> None:
    """Give a file another name, or copy it where that is not possible.

    Raises:
        FileNotFoundError: the file does not exist.
        OSError: the file cannot be copied.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, target)
