"""Appending without Spark: record batches are written to a Parquet file per partition, in one commit."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import TopicWriteError, Txn
from streamlets.channels.delta.layout import layout, partition_value
from streamlets.channels.delta.parquet import data_file
from streamlets.channels.delta.records import fitted
from streamlets.channels.delta.table import create_table, open_table, table_name
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract
    from streamlets.channels.delta.actions import DataFile

_Partition = dict[str, str | None]


def append_batches(
    topic: Path,
    rows: Iterable[pa.RecordBatch],
    contract: Contract,
    txn: Txn,
    clock: Callable[[], float],
    partition_by: tuple[str, ...] = (),
) -> None:
    """Commit records to the table of their contract, unless the table has the transaction already.

    Arguments:
        topic: the directory of the topic.
        rows: the records, with the Arrow schema of the contract. If they are partitioned, they are collected in memory.
        contract: the contract that the records are written with.
        txn: identifies the write.
        clock: returns the time in seconds since the epoch.
        partition_by: the columns and expressions of the outlet's `partition-by`.

    Raises:
        TopicLostError: the directory has no topic.
        TopicWriteError: the file system does not accept the records; none of them was published.
    """
    from streamlets.channels.delta.log import topic_id

    topic_id(topic)
    columns = layout(contract, partition_by)
    path = topic / table_name(contract, columns)
    directory = path / "data" / "append"
    files: list[Path] = []
    try:
        create_table(path, contract, columns, clock)
        table = open_table(path, files=False)
        if table.txns.get(txn.writer, -1) >= txn.sequence:
            return
        directory.mkdir(parents=True, exist_ok=True)
        written = []
        for partition, batches in _partitions(rows, columns):
            files.append(directory / f"{uuid.uuid4().hex}.parquet")
            written.append(_write(path, files[-1], batches, contract, partition))
        kept = [file for file in written if file.records]
        crash_point("after-append-file")
        committed = table.append(kept, txn, clock)  # False: another process has written the same
        published = {file.path for file in kept} if committed else set()
        for file in files:
            if file.relative_to(path).as_posix() not in published:
                file.unlink(missing_ok=True)
        crash_point("after-append-commit")
    except OSError as error:
        for file in files:
            file.unlink(missing_ok=True)
        raise TopicWriteError(f"cannot write to topic `{topic.name}`: {error}; no record was published") from None


def _partitions(
    rows: Iterable[pa.RecordBatch], columns: tuple[str, ...]
) -> Iterable[tuple[_Partition, Iterable[pa.RecordBatch]]]:
    """Return the records of each partition, in their order; a single partition if there are no columns."""
    if not columns:
        return [({}, rows)]
    import pyarrow as pa

    batches = list(rows)
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    values = zip(*(map(partition_value, table.column(name).to_pylist()) for name in columns), strict=True)
    numbers: dict[tuple[str | None, ...], list[int]] = {}
    for number, value in enumerate(values):
        numbers.setdefault(value, []).append(number)
    return [
        (dict(zip(columns, value, strict=True)), table.take(rows_of).to_batches()) for value, rows_of in numbers.items()
    ]


def _write(
    table: Path, file: Path, batches: Iterable[pa.RecordBatch], contract: Contract, partition: Mapping[str, str | None]
) -> DataFile:
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    schema = arrow_schema(contract)
    with pq.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(fitted(batch, schema))
    return data_file(table, file, dict(partition))
