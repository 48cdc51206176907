"""The actions of a Delta log, as data and as JSON lines.

The terms come from the Delta transaction protocol. The log of a topic's table has `protocol` and `metaData` in
version 0, which is never cleaned, then `add` with `txn`, and from maintenance `add` and `remove` without a change of
data.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, unquote

from streamlets.channels.delta.segments import Segment, Segments

SEGMENTS = "streamlets.segments"
ROW_GROUPS = "streamlets.rowGroups"
CONTRACT = "streamlets.contract"
SEAL = "streamlets.seal"
"""What a commit must be: `<id of the table>/<version>/<number of further actions>`, in its `commitInfo`."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table.

    Arguments:
        path: its path relative to the table's directory.
        size: its size in bytes.
        row_groups: the number of records in each row group.
        partition: its partition values as the log has them, by column.
        segments: which records of which versions it has, in the file's order; empty before it is committed. They keep
            the positions of readers valid after compaction, which copies them.
    """

    path: str
    size: int
    row_groups: tuple[int, ...]
    partition: Mapping[str, str | None] = field(default_factory=dict)
    segments: Segments = field(default_factory=Segments)

    @property
    def records(self) -> int:
        """The number of its records."""
        return sum(self.row_groups)

    def to_add(self, *, data_change: bool = True) -> dict[str, object]:
        """Return the `add` action of this file."""
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
        """Return the file of an `add` action that `to_add` returned."""
        tags, partition = dict(add["tags"] or {}), dict(add["partitionValues"] or {})  # type: ignore[call-overload]
        return cls(
            path=unquote(str(add["path"])),
            size=int(str(add["size"])),
            row_groups=tuple(map(int, filter(None, tags[ROW_GROUPS].split(",")))),
            partition=partition,
            segments=Segments.from_text(tags[SEGMENTS]),
        )

    def to_remove(self, time: int, *, data_change: bool) -> dict[str, object]:
        """Return the `remove` action of this file.

        Arguments:
            time: the time of the commit, in milliseconds since the epoch.
            data_change: whether the commit changes the records of the table.
        """
        return {
            "path": quote(self.path, safe="/=.-_"),
            "deletionTimestamp": time,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": dict(self.partition),
            "size": self.size,
        }


@dataclass(frozen=True, slots=True)
class Txn:
    """An application transaction: what a table knows of a writer.

    Arguments:
        writer: the id of the writer.
        sequence: the number of its last write, -1 before the first one.
        epoch: the highest epoch with which it was opened.
        marker: its last marker; None without one.
    """

    writer: str
    sequence: int
    epoch: int = 0
    marker: bytes | None = None

    def to_action(self, time: int) -> dict[str, object]:
        """Return the content of the `txn` action, at a time in milliseconds since the epoch.

        Other Delta implementations ignore epoch and marker.
        """
        action: dict[str, object] = {"appId": self.writer, "version": self.sequence, "lastUpdated": time}
        if self.epoch:
            action["epoch"] = self.epoch
        if self.marker is not None:
            action["marker"] = base64.b64encode(self.marker).decode()
        return action

    @classmethod
    def from_action(cls, action: Mapping[str, Any]) -> Txn:
        """Return the transaction of a `txn` action."""
        marker = action.get("marker")
        return cls(
            writer=action["appId"],
            sequence=int(action["version"]),
            epoch=int(action.get("epoch") or 0),
            marker=base64.b64decode(marker) if marker is not None else None,
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """The parts of a table's version that readers and writers of topics need.

    Arguments:
        version: its number.
        added: the files that it added.
        removed: the time when a file was removed, in milliseconds since the epoch, by path.
        txn: the transaction that it committed; None for maintenance.
    """

    version: int
    added: tuple[DataFile, ...]
    removed: Mapping[str, int] = field(default_factory=dict)
    txn: Txn | None = None


def with_segments(files: Iterable[DataFile], version: int, time: int) -> tuple[DataFile, ...]:
    """Return the files with the segments of a new version.

    Arguments:
        files: the files that the version adds.
        version: the number of the version.
        time: the time of the commit, in milliseconds since the epoch.
    """
    numbered, first = [], 0
    for file in files:
        numbered.append(replace(file, segments=Segments.of([Segment(version, first, file.records, time)])))
        first += file.records
    return tuple(numbered)


def encode(actions: Iterable[Mapping[str, object]]) -> bytes:
    """Return actions as the log stores them: one JSON object per line."""
    return b"".join(json.dumps(action, separators=(",", ":")).encode() + b"\n" for action in actions)


def encode_append(table: str, version: int, files: Iterable[DataFile], txn: Txn, time: int) -> bytes:
    """Return a commit that appends files with an application transaction.

    Arguments:
        table: the id of the table.
        version: the version that the commit creates.
        files: the files, with their segments.
        txn: the transaction.
        time: the time of the commit, in milliseconds since the epoch.
    """
    actions = [{"txn": txn.to_action(time)}, *({"add": file.to_add()} for file in files)]
    return _sealed(table, version, "STREAMING UPDATE", time, actions)


def encode_swap(
    table: str,
    version: int,
    removed: Iterable[DataFile],
    added: Iterable[DataFile],
    operation: str,
    time: int,
    *,
    data_change: bool,
) -> bytes:
    """Return a commit that replaces files of a table.

    Arguments:
        table: the id of the table.
        version: the version that the commit creates.
        removed: the files to remove.
        added: the files to add.
        operation: the name of the operation in the history of the table.
        time: the time of the commit, in milliseconds since the epoch.
        data_change: whether it changes the records of the table.
    """
    actions = [
        *({"remove": file.to_remove(time, data_change=data_change)} for file in removed),
        *({"add": file.to_add(data_change=data_change)} for file in added),
    ]
    return _sealed(table, version, operation, time, actions)


def _sealed(table: str, version: int, operation: str, time: int, actions: Sequence[Mapping[str, object]]) -> bytes:
    seal = f"{table}/{version}/{len(actions)}"
    info = {"timestamp": time, "operation": operation, "engineInfo": "streamlets", SEAL: seal}
    return encode([{"commitInfo": info}, *actions])


class DamagedCommitError(ValueError):
    """A commit is incomplete, or belongs elsewhere; the message completes a sentence that begins with `because`."""


def decode(table: str, version: int, data: bytes) -> Commit:
    """Return the commit of a version from its JSON lines.

    Raises:
        DamagedCommitError: the commit is incomplete, or belongs to another table or version.
    """
    if not data.strip():
        raise DamagedCommitError("it is empty")
    try:
        actions = [json.loads(line) for line in data.splitlines()]
        _check_seal(table, version, actions)
        added = tuple(DataFile.from_add(action["add"]) for action in actions if "add" in action)
        removals = [action["remove"] for action in actions if "remove" in action]
        removed = {unquote(remove["path"]): int(remove["deletionTimestamp"]) for remove in removals}
        txns = [Txn.from_action(action["txn"]) for action in actions if "txn" in action]
    except DamagedCommitError:
        raise
    except json.JSONDecodeError:
        raise DamagedCommitError("it is incomplete, or not JSON") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DamagedCommitError("it is not a commit of a topic") from None
    return Commit(version, added, removed, txns[-1] if txns else None)


def _check_seal(table: str, version: int, actions: Sequence[Mapping[str, Any]]) -> None:
    """Check the seal of a commit; commits of earlier releases do not have one."""
    info = actions[0].get("commitInfo") or {}
    if SEAL not in info:
        return
    own_table, own_version, number = str(info[SEAL]).split("/")
    if own_table != table:
        raise DamagedCommitError("it belongs to another table")
    if int(own_version) != version:
        raise DamagedCommitError(f"it is commit {own_version}")
    if int(number) != len(actions) - 1:
        raise DamagedCommitError(f"it is incomplete: it has {len(actions) - 1} of {number} actions")
