"""A Delta table of a topic, with the records of one writer's schema. Its log is read incrementally.

A table remembers the last version that it has read, so checking for new commits is one check for the next commit file.
If the log has been cleaned, reading continues from the last checkpoint. Version 0 has the table's id and is never
cleaned. The log is listed only to find missing commits; see `integrity`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from streamlets.channels.base import TopicDamagedError, WriterFencedError
from streamlets.channels.delta import actions
from streamlets.channels.delta.actions import Commit, DamagedCommitError, DataFile, Txn
from streamlets.channels.delta.integrity import LOG as LOG
from streamlets.channels.delta.integrity import (
    POINTER,
    check_dense,
    checkpoint_path,
    commit_path,
    damaged_commit,
    damaged_file,
    last_checkpoint,
    missing_commits,
    require_commit,
)
from streamlets.channels.delta.table_directory import lost
from streamlets.storage import objects

if TYPE_CHECKING:
    import pyarrow as pa


_CHECK_EVERY = 30.0
"""Seconds after which a table without news is checked for missing commits."""


@dataclass(slots=True)
class Table:
    """A table up to the last version that was read; `refresh` reads on.

    Arguments:
        path: its directory, whose name is the name of the table within the topic.
        id: generated when the table was created, so that a table that replaces another one has another id.
        contract: the writer's Avro schema, as JSON.
        partition_by: its partition columns.
        version: the last version read.
        txns: the last transaction of each writer.
        files: the data files by path, in the order of their records, from the version at which reading began; None for
            writers, which do not need them.
        removed: when files were removed from the log, in milliseconds since the epoch, by path; None except for
            maintenance.
        end: the version after the last one that added records (known only with `files`).
        time: when the last records were committed, in milliseconds since the epoch.
        ticks: returns the time in seconds, from any origin.
    """

    path: Path
    id: str
    contract: str
    partition_by: tuple[str, ...]
    version: int = 0
    txns: dict[str, Txn] = field(default_factory=dict)
    files: dict[str, DataFile] | None = None
    removed: dict[str, int] | None = None
    end: int = 1
    time: int = 0
    ticks: Callable[[], float] = monotonic
    _identity: object = None
    _checkpoint: object = None
    _checked: float = 0.0

    @property
    def name(self) -> str:
        """The name of the table within its topic."""
        return self.path.name

    def sequence(self, writer: str) -> int:
        """Return the sequence of the last known transaction of a writer, -1 without one."""
        return self.txns[writer].sequence if writer in self.txns else -1

    def refresh(self) -> bool:
        """Read new commits, and return whether there were any.

        Raises:
            TopicLostError: the table was deleted or replaced.
            TopicDamagedError: a commit is missing or incomplete.
        """
        if objects.identity(commit_path(self.path, 0)) != self._identity:
            raise lost(self.path)
        before = self.version
        while True:
            data = objects.read(commit_path(self.path, self.version + 1))
            if data is not None:
                self._apply(self.decoded(self.version + 1, data))
            elif not self._continue_from_checkpoint():
                if self.ticks() - self._checked > _CHECK_EVERY:
                    self.check()
                return self.version != before

    def check(self) -> None:
        """Check that no commit after the last one read is missing.

        Raises:
            TopicDamagedError: a commit is missing.
        """
        check_dense(self.path, self.version)
        self._checked = self.ticks()

    def missing_after_end(self, version: int) -> TopicDamagedError:
        """Return the error for a position of a reader after the end of the table, which was at least at a version."""
        return missing_commits(self.path, self.version + 1, version)

    def refers_to(self, files: Iterable[DataFile]) -> bool:
        """Return whether the log has, or had, any of some new files, which it then has to keep."""
        known = open_table(self.path, files=True, removed=True)
        return any(file.path in (known.files or {}) or file.path in (known.removed or {}) for file in files)

    def decoded(self, version: int, data: bytes) -> Commit:
        """Return the commit of a version from the content of its file.

        Raises:
            TopicDamagedError: it is incomplete, or belongs to another table.
        """
        try:
            return actions.decode(self.id, version, data)
        except DamagedCommitError as error:
            raise damaged_commit(self.path, version, str(error)) from None

    def append(self, files: Iterable[DataFile], txn: Txn, clock: Callable[[], float]) -> bool:
        """Commit files with a transaction, unless the table has the transaction already; return whether it committed.

        Arguments:
            files: the files to add.
            txn: the transaction.
            clock: returns the time in seconds since the epoch.

        Raises:
            WriterFencedError: the table has a higher epoch of the writer.
            TopicLostError: the table was deleted or replaced.
        """
        files = tuple(files)
        while self.admits(txn):
            if self._commit_append(files, txn, clock):
                return True
        return False

    def claim(self, writer: str, epoch: int, clock: Callable[[], float]) -> None:
        """Commit the epoch of a writer, unless the table has it already: from then on, lower epochs are fenced.

        Arguments:
            writer: the id of the writer.
            epoch: its epoch.
            clock: returns the time in seconds since the epoch.

        Raises:
            WriterFencedError: the table has a higher epoch of the writer.
            TopicLostError: the table was deleted or replaced.
        """
        while True:
            self.admits(Txn(writer, 0, epoch))
            known = self.txns.get(writer) or Txn(writer, -1)
            if known.epoch == epoch or self._commit_append((), replace(known, epoch=epoch), clock):
                return

    def admits(self, txn: Txn) -> bool:
        """Read new commits, and return whether a transaction may be committed, which it may not if it was before.

        Raises:
            WriterFencedError: the table has a higher epoch of the writer.
            TopicLostError: the table was deleted or replaced.
        """
        self.refresh()
        known = self.txns.get(txn.writer)
        if known is not None and known.epoch > txn.epoch:
            raise WriterFencedError(
                f"the writer `{txn.writer}` of topic `{self.path.parent.name}` with epoch {txn.epoch} was fenced: it "
                f"was opened again with epoch {known.epoch}; no record was published"
            )
        return known is None or known.sequence < txn.sequence

    def _commit_append(self, files: Sequence[DataFile], txn: Txn, clock: Callable[[], float]) -> bool:
        version = self.version + 1
        time = max(int(clock() * 1000), self.time)  # times of commits never decrease
        added = actions.with_segments(files, version, time)
        if not self.commit(version, actions.encode_append(self.id, version, added, txn, time)):
            return False
        if self._is_current(version):
            self._apply(Commit(version, added, txn=txn))
            return True
        # The log was cleaned up to a later version while this process paused, so no reader will read the commit, unless
        # the version became part of the last checkpoint in the meantime.
        self.load_checkpoint(last_checkpoint(self.path))
        if self.txns.get(txn.writer) == txn:
            return True
        commit_path(self.path, version).unlink(missing_ok=True)
        return False

    def _is_current(self, version: int) -> bool:
        """Return whether the last checkpoint is older than a version, so that its predecessor was the last one."""
        unchanged = objects.identity(self.path / LOG / POINTER) == self._checkpoint
        return unchanged or last_checkpoint(self.path) < version

    def swap(
        self,
        removed: Sequence[DataFile],
        added: Sequence[DataFile],
        operation: str,
        clock: Callable[[], float],
        *,
        data_change: bool,
    ) -> bool:
        """Replace files, unless one of them is no longer in the table; return whether it committed.

        Arguments:
            removed: the files to remove.
            added: the files to add.
            operation: the name of the operation in the history of the table.
            clock: returns the time in seconds since the epoch.
            data_change: whether the commit changes the records of the table.

        Raises:
            TopicLostError: the table was deleted or replaced.
        """
        while True:
            self.refresh()
            if added and all(file.path in (self.files or {}) for file in added):
                return True  # committed before, although the answer of the storage was another
            if any(file.path not in (self.files or {}) for file in removed):
                return False
            version, time = self.version + 1, max(int(clock() * 1000), self.time)
            data = actions.encode_swap(self.id, version, removed, added, operation, time, data_change=data_change)
            if self.commit(version, data):
                self.refresh()
                return True

    def commit(self, version: int, data: bytes) -> bool:
        """Write a commit if its version does not exist, without reading it; return whether it was written.

        The commit before it must still exist, and the one after it must not: the gap would be closed, or widened, so
        that readers of the topic do not find it.

        Raises:
            TopicLostError: the table was deleted.
            TopicDamagedError: a commit is missing.
        """
        require_commit(self.path, version - 1)
        if commit_path(self.path, version + 1).exists():
            check_dense(self.path, version - 1)
        try:
            return objects.put_if_absent(commit_path(self.path, version), data)
        except FileNotFoundError:
            raise lost(self.path) from None

    def _apply(self, commit: Commit) -> None:
        self.version = commit.version
        if commit.txn is not None:
            self.txns[commit.txn.writer] = commit.txn
        for file in commit.added:
            self._add(file)
        if self.removed is not None:
            self.removed |= commit.removed
        if commit.removed and self.files is not None:
            kept = (file for path, file in self.files.items() if path not in commit.removed)
            self.files = {file.path: file for file in sorted(kept, key=lambda file: file.segments.last.place)}

    def _add(self, file: DataFile) -> None:
        last = file.segments.last
        self.end, self.time = max(self.end, last.version + 1), max(self.time, last.time)
        if self.files is not None:
            self.files[file.path] = file

    def _continue_from_checkpoint(self) -> bool:
        """Continue from the last checkpoint if the log before it may have been cleaned; return whether to read on."""
        pointer = self.path / LOG / POINTER
        identity = objects.identity(pointer)
        if identity == self._checkpoint:
            return False
        self._checkpoint = identity
        version = last_checkpoint(self.path)
        if version <= self.version or commit_path(self.path, self.version + 1).exists():
            return commit_path(self.path, self.version + 1).exists()
        self.load_checkpoint(version)
        return True

    def load_checkpoint(self, version: int) -> None:
        """Replace the state of the table by the state in a checkpoint.

        Raises:
            TopicDamagedError: the checkpoint cannot be read, or belongs to another table.
        """
        known = {"txn": self.txns, "add": self.files, "remove": self.removed}
        rows = self._checkpoint_rows(version, [name for name, state in known.items() if state is not None])
        for row in rows.column("txn").drop_null().to_pylist():
            self.txns[row["appId"]] = Txn.from_action(row)
            self.time = max(self.time, row["lastUpdated"])
        if self.files is not None:
            self.files.clear()
            for row in rows.column("add").drop_null().to_pylist():
                self._add(DataFile.from_add(row))
        if self.removed is not None:
            for row in rows.column("remove").drop_null().to_pylist():
                self.removed[unquote(row["path"])] = row["deletionTimestamp"]
        self.version = version

    def _checkpoint_rows(self, version: int, columns: Sequence[str]) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = checkpoint_path(self.path, version)
        try:
            rows = pq.read_table(path, columns=[*columns, "metaData"], use_threads=False, memory_map=True)
            metadata = rows.column("metaData").drop_null().to_pylist()
        except (pa.ArrowException, OSError, KeyError) as error:
            reason = f"checkpoint {version} of the table `{self.name}` cannot be read: {error}"
            raise damaged_file(self.path.parent, path, reason, self._without_checkpoint()) from None
        if [row["id"] for row in metadata] != [self.id]:
            reason = f"checkpoint {version} of the table `{self.name}` belongs to another table"
            raise damaged_file(self.path.parent, path, reason, self._without_checkpoint())
        return rows

    def _without_checkpoint(self) -> str:
        if commit_path(self.path, 1).exists():
            return f"delete it and {self.path / LOG / POINTER}: the commits before it still exist"
        return "delete all topics and checkpoints with `flow run --fresh`"


def open_table(path: Path, *, files: bool, removed: bool = False, after: int = 0) -> Table:
    """Return the table in a directory, read to its end.

    Arguments:
        path: the directory.
        files: whether to read its data files, which readers need and writers do not.
        removed: whether to read the files that were removed from the log, which maintenance needs.
        after: the caller does not need the files up to this version.

    Raises:
        TopicLostError: the directory has no table.
        TopicDamagedError: a commit or the checkpoint is missing or damaged.
    """
    first = commit_path(path, 0)
    identity, data = objects.identity(first), objects.read(first)
    if data is None:
        raise lost(path)
    metadata = _metadata(path, data)
    table = Table(
        path=path,
        id=metadata["id"],
        contract=metadata["configuration"][actions.CONTRACT],
        partition_by=tuple(metadata["partitionColumns"]),
        files={} if files else None,
        removed={} if removed else None,
        _identity=identity,
    )
    checkpoint = last_checkpoint(path)
    if after and commit_path(path, after).exists():
        table.version, table.end = after, after + 1
    elif checkpoint:
        table.load_checkpoint(checkpoint)
    table.refresh()
    table.check()
    return table


def _metadata(table: Path, data: bytes) -> dict[str, Any]:
    """Return the `metaData` action of a table's first commit."""
    try:
        entries = [json.loads(line) for line in data.splitlines()]
        metadata: dict[str, Any] = next(entry["metaData"] for entry in entries if "metaData" in entry)
        if {"id", "configuration", "partitionColumns"} <= metadata.keys():
            return metadata
    except (ValueError, TypeError, AttributeError, StopIteration):
        pass
    raise damaged_commit(table, 0, "it is incomplete, or not the first commit of a topic's table")
