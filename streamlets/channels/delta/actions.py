"""Delta log entries as data: what a commit adds, and the lines that say so.

Terms are the Delta transaction protocol's. A table of a topic knows only `protocol` and `metaData` (version 0, never
cleaned away), then `add` with `txn`, and from maintenance `add` and `remove` without change of data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

from streamlets.channels.base import Txn
from streamlets.channels.delta.segments import Segment, Segments

SEGMENTS = "streamlets.segments"
ROW_GROUPS = "streamlets.rowGroups"
CONTRACT = "streamlets.contract"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table.

    Arguments:
        path: below the table's folder.
        size: in bytes; row_groups: records in each row group.
        partition: values as the log writes them, by column.
        segments: which records of which versions it holds, in the file's order; none before it is committed. They let a
            reader's position outlive the file: compaction keeps them.
    """

    path: str
    size: int
    row_groups: tuple[int, ...]
    partition: Mapping[str, str | None] = field(default_factory=dict)
    segments: Segments = field(default_factory=Segments)

    @property
    def records(self) -> int:
        """How many records it holds."""
        return sum(self.row_groups)

    def to_add(self, *, data_change: bool = True) -> dict[str, object]:
        """The `add` action of this file."""
        return {
            "path": quote(self.path, safe="/=.-_"),
            "partitionValues": dict(self.partition),
            "size": self.size,
            "modificationTime": self.segments.last.time if self.segments else 0,
            "dataChange": data_change,
            "stats": json.dumps({"numRecords": self.records}),
            "tags": {
                SEGMENTS: self.segments.to_text(),
                ROW_GROUPS: ",".join(map(str, self.row_groups)),
            },
        }

    @classmethod
    def from_add(cls, add: Mapping[str, object]) -> DataFile:
        """The file of an `add` action of ours."""
        tags, partition = dict(add["tags"] or {}), dict(add["partitionValues"] or {})  # type: ignore[call-overload]
        return cls(
            path=unquote(str(add["path"])),
            size=int(str(add["size"])),
            row_groups=tuple(map(int, filter(None, tags[ROW_GROUPS].split(",")))),
            partition=partition,
            segments=Segments.from_text(tags[SEGMENTS]),
        )

    def to_remove(self, time: int, *, data_change: bool) -> dict[str, object]:
        """The `remove` action of this file; `time` is that of the commit, in milliseconds since the epoch."""
        return {
            "path": quote(self.path, safe="/=.-_"),
            "deletionTimestamp": time,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": dict(self.partition),
            "size": self.size,
        }


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of a table, as far as readers and writers of topics need it. `removed` has the time by path."""

    version: int
    added: tuple[DataFile, ...]
    removed: Mapping[str, int] = field(default_factory=dict)
    txn: Txn | None = None


def with_segments(files: Iterable[DataFile], version: int, time: int) -> tuple[DataFile, ...]:
    """The files with their records numbered as those of `version`."""
    numbered, first = [], 0
    for file in files:
        numbered.append(replace(file, segments=Segments.of([Segment(version, first, file.records, time)])))
        first += file.records
    return tuple(numbered)


def encode(actions: Iterable[Mapping[str, object]]) -> bytes:
    """Actions as the log stores them: one JSON object a line."""
    return b"".join(json.dumps(action, separators=(",", ":")).encode() + b"\n" for action in actions)


def encode_append(files: Iterable[DataFile], txn: Txn, time: int) -> bytes:
    """A commit that appends files under an application transaction."""
    info = {"timestamp": time, "operation": "STREAMING UPDATE", "engineInfo": "streamlets"}
    return encode(
        [
            {"commitInfo": info},
            {"txn": {"appId": txn.writer, "version": txn.sequence, "lastUpdated": time}},
            *({"add": file.to_add()} for file in files),
        ]
    )


def encode_swap(
    gone: Iterable[DataFile], come: Iterable[DataFile], operation: str, time: int, *, data_change: bool
) -> bytes:
    """A commit that takes files out of the table and puts others in; `data_change` says whether records go with it."""
    info = {"timestamp": time, "operation": operation, "engineInfo": "streamlets"}
    return encode(
        [
            {"commitInfo": info},
            *({"remove": file.to_remove(time, data_change=data_change)} for file in gone),
            *({"add": file.to_add(data_change=data_change)} for file in come),
        ]
    )


def decode(version: int, data: bytes) -> Commit:
    """Read a commit of a topic's table."""
    added, removed, txn = [], {}, None
    for line in data.splitlines():
        action = json.loads(line)
        if "add" in action:
            added.append(DataFile.from_add(action["add"]))
        elif "remove" in action:
            removed[unquote(action["remove"]["path"])] = int(action["remove"]["deletionTimestamp"])
        elif "txn" in action:
            txn = Txn(action["txn"]["appId"], int(action["txn"]["version"]))
    return Commit(version, tuple(added), removed, txn)
