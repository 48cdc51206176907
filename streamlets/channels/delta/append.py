"""Appending without Spark: record batches are written to a Parquet file per partition, in one commit."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import Appender, TopicWriteError, WriterFencedError
from streamlets.channels.delta.actions import Txn
from streamlets.channels.delta.layout import layout, partition_value
from streamlets.channels.delta.log import topic_id
from streamlets.channels.delta.parquet import write_file
from streamlets.channels.delta.table import LOG, open_table
from streamlets.channels.delta.table_directory import create_table, table_name, tables_in
from streamlets.channels.records import fitted
from streamlets.override import override
from streamlets.storage import objects
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract
    from streamlets.channels.delta.actions import DataFile

_DIRECTORY = "data/append"
_Partition = Mapping[str, str | None]


class DeltaAppender(Appender):
    """Appends records to the table of a contract.

    A topic has a table per contract, and a writer may have written to another one before. So the writer's epoch is
    committed to every table of the topic: first to its own, then to those that the directory has after that. Of two
    writers that open different tables at the same time, at least one finds the table of the other.

    Arguments:
        topic: the directory of the topic.
        contract: the contract that the records are written with.
        writer: the id of the writer.
        epoch: the generation of the writer, which fences those with lower ones.
        partition_by: the columns and expressions of the outlet's `partition-by`. Partitioned records are collected in
            memory.
        clock: returns the time in seconds since the epoch.

    Raises:
        WriterFencedError: the writer has been opened with a higher epoch.
        TopicLostError: the directory has no topic.
        TopicWriteError: the file system does not accept the table.
    """

    def __init__(
        self,
        topic: Path,
        contract: Contract,
        *,
        writer: str,
        epoch: int,
        partition_by: tuple[str, ...],
        clock: Callable[[], float],
    ) -> None:
        from streamlets.contract.types import arrow_schema

        self._topic = topic
        self._writer = writer
        self._epoch = epoch
        self._clock = clock
        self._schema = arrow_schema(contract)
        self._columns = layout(contract, partition_by)
        topic_id(topic)
        path = topic / table_name(contract, self._columns)
        try:
            create_table(path, contract, self._columns, clock)
            (path / _DIRECTORY).mkdir(parents=True, exist_ok=True)
            self._table = open_table(path, files=False)
            self._table.claim(writer, epoch, clock)
            self._earlier = self._claim_other_tables()
        except OSError as error:
            raise TopicWriteError(f"cannot open topic `{topic.name}` for writing: {error}") from None

    def _claim_other_tables(self) -> Txn:
        """Claim the other tables, and return the last transaction of the writer in all tables."""
        known = [self._own()]
        for path in tables_in(self._topic):
            if path != self._table.path:
                table = open_table(path, files=False)
                table.claim(self._writer, self._epoch, self._clock)
                known.append(table.txns.get(self._writer, known[0]))
        return max(known, key=lambda txn: txn.sequence)

    @property
    @override
    def last(self) -> int | None:
        sequence = self._newest().sequence
        return sequence if sequence >= 0 else None

    @property
    @override
    def marker(self) -> bytes | None:
        return self._newest().marker

    @override
    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        txn = Txn(self._writer, sequence, self._epoch, marker if marker is not None else self.marker)
        if not self._table.admits(txn) or sequence <= self._newest().sequence:
            return False
        try:
            files = self._written(rows)
        except OSError as error:
            raise self._error(f"{error}; no record was published") from None
        crash_point("after-append-file")
        try:
            committed = self._table.append(files, txn, self._clock)  # False: another process has written the same
            if not committed:
                self._discard(files)
            objects.sync_names(self._table.path / LOG)
        except WriterFencedError:
            self._discard(files)
            raise
        except OSError as error:  # the files stay: the log may refer to them; a sweep deletes them if it does not
            raise self._error(f"{error}; the records may have been published, so repeat the append") from None
        crash_point("after-append-commit")
        return committed

    def _written(self, rows: Iterable[pa.RecordBatch]) -> list[DataFile]:
        """Return the files of records, without those that have none; if one cannot be written, all are deleted."""
        files: list[DataFile] = []
        try:
            for partition, batches in self._partitions(rows):
                path = self._table.path / _DIRECTORY / f"{uuid.uuid4().hex}.parquet"
                files.append(write_file(self._table.path, path, self._schema, batches, partition))
        except BaseException:
            self._delete(files)
            raise
        self._delete([file for file in files if not file.records])
        return [file for file in files if file.records]

    def _discard(self, files: Sequence[DataFile]) -> None:
        """Delete files, unless the log has them, whatever the storage has answered."""
        if not self._table.refers_to(files):
            self._delete(files)

    def _delete(self, files: Iterable[DataFile]) -> None:
        for file in files:
            (self._table.path / file.path).unlink(missing_ok=True)

    def _error(self, reason: str) -> TopicWriteError:
        return TopicWriteError(f"cannot write to topic `{self._topic.name}`: {reason}")

    def _own(self) -> Txn:
        """Return the last known transaction of the writer in the table of the contract."""
        return self._table.txns.get(self._writer) or Txn(self._writer, -1)

    def _newest(self) -> Txn:
        return max(self._earlier, self._own(), key=lambda txn: txn.sequence)

    def _partitions(self, rows: Iterable[pa.RecordBatch]) -> Iterable[tuple[_Partition, Iterable[pa.RecordBatch]]]:
        """Return the records of each partition, in their order; a single partition if there are no columns."""
        batches = (fitted(batch, self._schema) for batch in rows)
        if not self._columns:
            return [({}, batches)]
        import pyarrow as pa

        table = pa.Table.from_batches(batches, self._schema)
        values = zip(*(map(partition_value, table.column(name).to_pylist()) for name in self._columns), strict=True)
        numbers: dict[tuple[str | None, ...], list[int]] = {}
        for number, value in enumerate(values):
            numbers.setdefault(value, []).append(number)
        return [
            (dict(zip(self._columns, value, strict=True)), table.take(rows_of).to_batches())
            for value, rows_of in numbers.items()
        ]
