"""What keeps a topic cheap however long it runs: checkpoints of its logs, cleaning behind them, merging of small files,
sweeping of files that nothing names.

Nothing a reader may need is removed: the records' place in the log travels with the files (`Segment`), so whoever comes
to a cleaned log goes on from the checkpoint. Files that have been merged stay for the batches that were planned before.
Older versions of a table cannot be read: topics promise no time travel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from streamlets.channels.base import Reader
from streamlets.channels.delta.compaction import Compaction, compact_table
from streamlets.channels.delta.manifest import Manifest
from streamlets.channels.delta.table import LOG, Table, checkpoint_path, commit_path, open_table
from streamlets.storage import objects

if TYPE_CHECKING:
    import pyarrow as pa

SWEPT = "_swept"
# Bytes of a checkpoint that a commit may cost on the average, beyond the few that each checkpoint has. It tells of each
# commit in some ten bytes, so the next one comes when a topic that keeps everything has grown by a tenth.
_SHARE = 100
_SMALL = 16_384


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How often and how late.

    Arguments:
        checkpoint_every: commits from one checkpoint to the next, at least. The larger a checkpoint is the later comes
            the next one, so that the cost per commit stays.
        keep_log: seconds that commits before a checkpoint stay; a writer must not be held up longer than that
            between its look at the log and its commit.
        keep_orphans: seconds after which a file that nothing names is taken for the rest of a failed attempt.
        keep_removed: seconds that a file stays after it has left the log, at most; no batch that reads it may take
            longer.
        keep_unused: the same when no batch of a known reader was planned before the file left: the time for others,
            such as `flow tail` or another Delta reader.
        sweep_every: seconds from one search for such files to the next.
        compaction: which files are merged, whenever a checkpoint is due; None merges none.
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
) -> None:
    """Look after each table of a topic; costs next to nothing when there is nothing to do.

    Arguments:
        staged: the directory of the channel's manifests; clock: seconds since the epoch.
        readers: gives whoever reads the topic; None when that is not known.
    """
    upkeep = upkeep or Upkeep()
    for path in sorted(topic.iterdir()):
        if commit_path(path, 0).exists():
            last = last_checkpoint(path)
            surplus = _size(path, last) - _SMALL
            if commit_path(path, last + max(upkeep.checkpoint_every, surplus // _SHARE)).exists():
                table = open_table(path, files=True, removed=True)
                if upkeep.compaction is not None:
                    compact_table(table, upkeep.compaction, clock)
                unused = _unused_before(upkeep, clock(), readers)
                _delete_removed(table, unused)
                write_checkpoint(table, unused)
                _clean_log(path, clock() - upkeep.keep_log)
                _give_back()
            marker = objects.identity(path / SWEPT)
            if marker is None or clock() - marker[2] / 1e9 > upkeep.sweep_every:
                unused = _unused_before(upkeep, clock(), readers)
                sweep(path, staged, removed=unused, orphans=clock() - upkeep.keep_orphans)


def _give_back() -> None:
    """Let the system have what Arrow holds for the next time, which comes in minutes: a runner's memory would grow for
    hours by what its pool keeps for each thread."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _size(table: Path, version: int) -> int:
    """The bytes of a table's checkpoint, 0 when it has none."""
    path = checkpoint_path(table, version)
    return path.stat().st_size if version and path.exists() else 0


def _unused_before(upkeep: Upkeep, now: float, readers: Callable[[], Iterable[Reader]] | None) -> float:
    """The time (seconds since the epoch) such that files which left the log before it are read by nobody any more."""
    latest = now - upkeep.keep_removed
    if readers is None:
        return latest
    planned = [reader.reading_since for reader in readers() if reader.reading_since is not None]
    return max(latest, min([now - upkeep.keep_unused, *planned]))


def _delete_removed(table: Table, before: float) -> None:
    """Delete the files that left the log before a time (seconds since the epoch)."""
    for name, time in (table.removed or {}).items():
        if time < before * 1000:
            (table.path / name).unlink(missing_ok=True)


def last_checkpoint(table: Path) -> int:
    """The version of a table's last checkpoint, 0 when it has none."""
    pointer = objects.read(table / LOG / "_last_checkpoint")
    return int(json.loads(pointer)["version"]) if pointer else 0


def write_checkpoint(table: Table, forget: float) -> None:
    """Write the state of a table that has been read with its files, so that reading may begin there.

    Arguments:
        forget: what left the log before this time (seconds since the epoch) is no longer spoken of.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    entries = [json.loads(line) for line in (objects.read(commit_path(table.path, 0)) or b"").splitlines()]
    fixed: dict[str, Any] = {key: entry[key] for entry in entries for key in entry if key != "commitInfo"}
    metadata = fixed["metaData"]
    metadata["configuration"] = list(metadata["configuration"].items())
    metadata["format"]["options"] = []
    rows: list[dict[str, Any]] = [{"protocol": fixed["protocol"]}, {"metaData": metadata}]
    rows += [
        {"txn": {"appId": writer, "version": number, "lastUpdated": table.time}}
        for writer, number in sorted(table.txns.items())
    ]
    for file in (table.files or {}).values():
        add: dict[str, Any] = file.to_add(data_change=False)
        rows.append(
            {"add": {**add, "tags": list(add["tags"].items()), "partitionValues": list(file.partition.items())}}
        )
    rows += [
        {"remove": {"path": quote(gone, safe="/=.-_"), "deletionTimestamp": time, "dataChange": False}}
        for gone, time in (table.removed or {}).items()
        if time >= forget * 1000
    ]
    path = checkpoint_path(table.path, table.version)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(pa.Table.from_pylist(rows, schema=_checkpoint_schema()), temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    pointer = {"version": table.version, "size": len(rows)}
    objects.replace(table.path / LOG / "_last_checkpoint", json.dumps(pointer).encode())


def _checkpoint_schema() -> pa.Schema:
    """The columns of a checkpoint as the Delta protocol names them."""
    import pyarrow as pa

    text, number, texts = pa.string(), pa.int64(), pa.map_(pa.string(), pa.string())
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
            ("txn", pa.struct([("appId", text), ("version", number), ("lastUpdated", number)])),
            ("add", pa.struct(add)),
            ("remove", pa.struct(remove)),
            ("metaData", pa.struct(metadata)),
            ("protocol", pa.struct(protocol)),
        ]
    )


def _clean_log(table: Path, before: float) -> None:
    """Remove commits and checkpoints older than the last checkpoint and `before`; version 0 stays."""
    kept = last_checkpoint(table)
    for path in sorted((table / LOG).iterdir()):  # oldest first, so that what is left has no gap above it
        number = path.name.partition(".")[0]
        if number.isdigit() and 0 < int(number) < kept and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)


def sweep(table: Path, staged: Path, *, removed: float, orphans: float) -> None:
    """Delete files that left the log before the time `removed`, and files that neither the log nor a manifest names
    once they are older than the time `orphans` (both in seconds since the epoch)."""
    opened = open_table(table, files=True, removed=True)
    _delete_removed(opened, removed)
    left = [path for path in _files(table / "data") if path.stat().st_mtime < orphans]
    if left:
        known = {*(opened.files or {}), *(opened.removed or {})}
        known |= {file for name, file in _staged_files(staged) if name == f"{table.parent.name}/{table.name}"}
        for path in left:
            if path.name.startswith(".") or path.relative_to(table).as_posix() not in known:
                path.unlink(missing_ok=True)
    (table / SWEPT).touch()


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent, name)


def _staged_files(staged: Path) -> Iterator[tuple[str, str]]:
    for path in staged.glob("*/*.json"):
        data = objects.read(path)
        if data is not None:
            for table, files in Manifest.from_json(data).tables.items():
                yield from ((table, file.path) for file in files)
