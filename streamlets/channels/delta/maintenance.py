"""Maintenance keeps the cost of a topic constant.

It writes checkpoints of its logs, cleans the logs before them, merges small files and deletes files that nothing refers
to.

Nothing that a reader may need is removed. The positions of records are stored with the files (`Segment`), so a reader
that finds a cleaned log continues from the checkpoint. Files that have been merged stay for the batches that were
planned before. Older versions of a table cannot be read: topics do not support time travel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from streamlets.channels.base import Reader
from streamlets.channels.delta.clock_steps import ClockSteps
from streamlets.channels.delta.compaction import Compaction, compact_table
from streamlets.channels.delta.integrity import LOG, POINTER, checkpoint_path, commit_path, last_checkpoint
from streamlets.channels.delta.manifest import read_manifest
from streamlets.channels.delta.table import Table, open_table
from streamlets.channels.delta.table_directory import tables_in
from streamlets.storage import objects

if TYPE_CHECKING:
    import pyarrow as pa

SWEPT = "_swept"
# The bytes of a checkpoint that each commit may cost on average, without the constant size of a checkpoint. Since a
# checkpoint has about ten bytes per commit, a topic without retention gets the next one after it has grown by a tenth.
_BYTES_PER_COMMIT = 100
_CONSTANT_SIZE = 16_384
# The maximum number of commits between two checkpoints, and so between two compactions: it limits the number of files.
_MAX_COMMITS = 500


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The intervals and delays of maintenance.

    Arguments:
        checkpoint_every: the minimum number of commits between two checkpoints. After a large checkpoint the number is
            larger, so that the cost per commit stays constant.
        keep_log: how long commits before a checkpoint are kept, in seconds. A writer must not pause for longer between
            reading the log and its commit.
        keep_orphans: the age after which a file that nothing refers to is regarded as left by a failed attempt, in
            seconds.
        keep_removed: the maximum time that a file is kept after its removal from the log, in seconds. A batch that
            reads it must not take longer.
        keep_unused: the same if no batch of a known reader was planned before the removal, in seconds. It is the time
            for other readers, such as `flow tail` or another Delta implementation.
        sweep_every: the time between two searches for files to delete, in seconds.
        compaction: which files are merged whenever a checkpoint is due; None for none.
    """

    checkpoint_every: int = 100
    keep_log: float = 600.0
    keep_orphans: float = 86400.0
    keep_removed: float = 3600.0
    keep_unused: float = 300.0
    sweep_every: float = 3600.0
    compaction: Compaction | None = field(default_factory=Compaction)


def maintain_topic(
    topic: Path,
    staged: Path,
    clock: Callable[[], float],
    upkeep: Upkeep | None = None,
    readers: Callable[[], Iterable[Reader]] | None = None,
    steps: ClockSteps | None = None,
) -> None:
    """Maintain each table of a topic. The call is cheap if nothing is due.

    Arguments:
        topic: the directory of the topic.
        staged: the directory of the channel's manifests.
        clock: returns the time in seconds since the epoch.
        upkeep: the intervals and delays; None for the defaults.
        readers: returns the readers of the topic; None if they are not known.
        steps: the known steps of the clock; nothing is deleted early because of one.
    """
    upkeep, steps = upkeep or Upkeep(), steps or ClockSteps(clock, clock)
    for path in tables_in(topic):
        last = last_checkpoint(path)
        surplus = _size(path, last) - _CONSTANT_SIZE
        commits = max(upkeep.checkpoint_every, min(surplus // _BYTES_PER_COMMIT, _MAX_COMMITS))
        if commit_path(path, last + commits).exists():
            table = open_table(path, files=True, removed=True)
            if upkeep.compaction is not None:
                compact_table(table, upkeep.compaction, clock)
            unused = _unused_before(upkeep, steps, readers)
            _delete_removed(table, unused)
            write_checkpoint(table, unused)
            _clean_log(path, steps.before(upkeep.keep_log))
            _release_memory()
        marker = objects.identity(path / SWEPT)
        if marker is None or clock() - marker[2] / 1e9 > upkeep.sweep_every:
            unused = _unused_before(upkeep, steps, readers)
            sweep(path, staged, removed=unused, orphans=steps.before(upkeep.keep_orphans))


def _release_memory() -> None:
    """Return the unused memory of Arrow to the system.

    Its pool keeps memory for each thread, so the memory of a runner would grow for hours otherwise.
    """
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _size(table: Path, version: int) -> int:
    """Return the size of a checkpoint of a table in bytes, 0 if it does not exist."""
    path = checkpoint_path(table, version)
    return path.stat().st_size if version and path.exists() else 0


def _unused_before(upkeep: Upkeep, steps: ClockSteps, readers: Callable[[], Iterable[Reader]] | None) -> float:
    """Return the time, in seconds since the epoch: nobody reads files that were removed from the log before it."""
    latest = steps.before(upkeep.keep_removed)
    if readers is None:
        return latest
    planned = [steps.since(reader.reading_since) for reader in readers() if reader.reading_since is not None]
    return max(latest, min([steps.before(upkeep.keep_unused), *planned]))


def _delete_removed(table: Table, before: float) -> None:
    """Delete the files that were removed from the log before a time, in seconds since the epoch."""
    for name, time in (table.removed or {}).items():
        if time < before * 1000:
            _delete(table.path, table.path / name)


def _delete(table: Path, path: Path) -> None:
    """Delete a data file, and the directories of its batch if they are empty then."""
    path.unlink(missing_ok=True)
    directory = path.parent
    with suppress(OSError):  # it is not empty
        while len(directory.relative_to(table).parts) > 2:  # writers keep using `data/<writer>`
            directory.rmdir()
            directory = directory.parent


def write_checkpoint(table: Table, forget: float) -> None:
    """Write a checkpoint, from which readers can start.

    Arguments:
        table: the table, read with its files.
        forget: files that were removed from the log before this time, in seconds since the epoch, are omitted.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    entries = [json.loads(line) for line in (objects.read(commit_path(table.path, 0)) or b"").splitlines()]
    fixed: dict[str, Any] = {key: entry[key] for entry in entries for key in entry if key != "commitInfo"}
    metadata = fixed["metaData"]
    metadata["configuration"] = list(metadata["configuration"].items())
    metadata["format"]["options"] = []
    rows: list[dict[str, Any]] = [{"protocol": fixed["protocol"]}, {"metaData": metadata}]
    rows += [{"txn": txn.to_action(table.time)} for _, txn in sorted(table.txns.items())]
    for file in (table.files or {}).values():
        add: dict[str, Any] = file.to_add(data_change=False)
        rows.append(
            {"add": {**add, "tags": list(add["tags"].items()), "partitionValues": list(file.partition.items())}}
        )
    rows += [
        {"remove": {"path": quote(path, safe="/=.-_"), "deletionTimestamp": time, "dataChange": False}}
        for path, time in (table.removed or {}).items()
        if time >= forget * 1000
    ]
    checkpoint = checkpoint_path(table.path, table.version)
    temporary = checkpoint.with_name(f".{checkpoint.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            pq.write_table(pa.Table.from_pylist(rows, schema=_checkpoint_schema()), stream)
            stream.flush()
            os.fsync(stream.fileno())  # the commits before it are deleted
        temporary.replace(checkpoint)
    finally:
        temporary.unlink(missing_ok=True)
    pointer = {"version": table.version, "size": len(rows)}
    objects.replace(table.path / LOG / POINTER, json.dumps(pointer).encode())


def _checkpoint_schema() -> pa.Schema:
    """Return the schema of a checkpoint in the Delta protocol."""
    import pyarrow as pa

    text, number, texts = pa.string(), pa.int64(), pa.map_(pa.string(), pa.string())
    txn = [("appId", text), ("version", number), ("lastUpdated", number), ("epoch", number), ("marker", text)]
    add = [("path", text), ("partitionValues", texts), ("size", number), ("modificationTime", number),
           ("dataChange", pa.bool_()), ("stats", text), ("tags", texts)]  # fmt: skip
    metadata = [("id", text), ("name", text), ("description", text), ("schemaString", text),
                ("format", pa.struct([("provider", text), ("options", texts)])), ("createdTime", number),
                ("partitionColumns", pa.list_(text)), ("configuration", texts)]  # fmt: skip
    protocol = [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()),
                ("readerFeatures", pa.list_(text)), ("writerFeatures", pa.list_(text))]  # fmt: skip
    remove = [("path", text), ("deletionTimestamp", number), ("dataChange", pa.bool_())]
    return pa.schema(
        [
            ("txn", pa.struct(txn)),
            ("add", pa.struct(add)),
            ("remove", pa.struct(remove)),
            ("metaData", pa.struct(metadata)),
            ("protocol", pa.struct(protocol)),
        ]
    )


def _clean_log(table: Path, before: float) -> None:
    """Delete outdated commits and checkpoints, and the drafts of killed writers.

    They are older than the last checkpoint and than `before`. Version 0 is kept.
    """
    kept = last_checkpoint(table)
    for path in sorted((table / LOG).iterdir()):  # oldest first, so that the remaining versions have no gap
        number = path.name.partition(".")[0]
        obsolete = number.isdigit() and 0 < int(number) < kept
        with suppress(FileNotFoundError):  # another writer has renamed its draft
            if (obsolete or path.suffix == ".tmp") and path.stat().st_mtime < before:
                path.unlink()


def sweep(table: Path, staged: Path, *, removed: float, orphans: float) -> None:
    """Delete files of a table that are not needed any more.

    Arguments:
        table: the directory of the table.
        staged: the directory of the channel's manifests.
        removed: delete files that were removed from the log before this time, in seconds since the epoch.
        orphans: delete files that neither the log nor a manifest refers to, and that are older than this time, in
            seconds since the epoch.
    """
    opened = open_table(table, files=True, removed=True)
    _delete_removed(opened, removed)
    old = [path for path in _files(table / "data") if path.stat().st_mtime < orphans]
    if old:
        known = {*(opened.files or {}), *(opened.removed or {})}
        known |= {file for name, file in _staged_files(staged) if name == f"{table.parent.name}/{table.name}"}
        for path in old:
            if path.name.startswith(".") or path.relative_to(table).as_posix() not in known:
                _delete(table, path)
    (table / SWEPT).touch()


def _files(directory: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(directory):
        for name in names:
            yield Path(parent, name)


def _staged_files(staged: Path) -> Iterator[tuple[str, str]]:
    for path in staged.glob("*/*.json"):
        manifest = read_manifest(path)
        for table, files in manifest.tables.items() if manifest is not None else ():
            yield from ((table, file.path) for file in files)
