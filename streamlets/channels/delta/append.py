"""Appending without Spark: record batches to Parquet files, one a partition, and one commit."""

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
    """Commit records to the contract's table of a topic under a transaction, unless the table has seen it.

    Arguments:
        partition_by: as an outlet has it; records that are laid out are held in memory.

    Raises:
        TopicLostError: there is no topic in the folder.
        TopicWriteError: the file system refuses; nothing is visible then.
    """
    from streamlets.channels.delta.log import topic_id

    topic_id(topic)
    columns = layout(contract, partition_by)
    path = topic / table_name(contract, columns)
    folder = path / "data" / "append"
    files: list[Path] = []
    try:
        create_table(path, contract, columns, clock)
        table = open_table(path, files=False)
        if table.txns.get(txn.writer, -1) >= txn.sequence:
            return
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for partition, batches in _partitions(rows, columns):
            files.append(folder / f"{uuid.uuid4().hex}.parquet")
            written.append(_write(path, files[-1], batches, contract, partition))
        kept = [file for file in written if file.records]
        crash_point("after-append-file")
        committed = table.append(kept, txn, clock)  # False: the same was written by somebody else meanwhile
        wanted = {file.path for file in kept} if committed else set()
        for file in files:
            if file.relative_to(path).as_posix() not in wanted:
                file.unlink(missing_ok=True)
        crash_point("after-append-commit")
    except OSError as error:
        for file in files:
            file.unlink(missing_ok=True)
        raise TopicWriteError(f"topic `{topic.name}`: {error}; nothing of it is visible") from None


def _partitions(
    rows: Iterable[pa.RecordBatch], columns: tuple[str, ...]
) -> Iterable[tuple[_Partition, Iterable[pa.RecordBatch]]]:
    """The records by what lays them out, in their order within a partition; all in one where nothing does."""
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
        (dict(zip(columns, value, strict=True)), table.take(those).to_batches()) for value, those in numbers.items()
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
