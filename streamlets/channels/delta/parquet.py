"""Reading Parquet files: their metadata, and their records as Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.delta.actions import DataFile

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_RECORDS = 65536


class OtherFileError(ValueError):
    """A file is not the one that the log refers to."""


def other_size(size: int) -> str:
    """Return the reason for which a file cannot be read that has another size than the log says.

    Arguments:
        size: the size in the log, in bytes.
    """
    return f"it does not have the {size:,} bytes that were committed"


def data_file(table: Path, path: Path, partition: dict[str, str | None] | None = None) -> DataFile:
    """Return a Parquet file of a table, with the record counts of its footer.

    Arguments:
        table: the directory of the table.
        path: the path of the file, below that directory.
        partition: its partition values as the log has them, by column.
    """
    import pyarrow.parquet as pq

    footer = pq.read_metadata(path)
    groups = tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    return DataFile(path.relative_to(table).as_posix(), path.stat().st_size, groups, partition or {})


def write_file(
    table: Path, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], partition: Mapping[str, str | None]
) -> DataFile:
    """Write a durable Parquet file of a table; if that fails, it is deleted.

    Arguments:
        table: the directory of the table.
        path: the path of the file, below that directory.
        schema: the schema of the records.
        batches: the records, with a row group for each batch.
        partition: the partition values of the file as the log has them, by column.

    Raises:
        OSError: the file system does not accept the file.
    """
    import pyarrow.parquet as pq

    footers: list[pq.FileMetaData] = []
    try:
        with path.open("xb") as file:
            with pq.ParquetWriter(file, schema, metadata_collector=footers) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    (footer,) = footers
    groups = tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    return DataFile(path.relative_to(table).as_posix(), size, groups, partition)


def read_rows(
    path: str, size: int, row_groups: Sequence[int], row: int, count: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield consecutive records of a file; other row groups are not read, and columns that it lacks are omitted.

    Arguments:
        path: the path of the file.
        size: its size in bytes.
        row_groups: the number of records in each row group.
        row: the row of the first record in the file, from 0.
        count: the number of records.
        columns: the columns to read.

    Raises:
        OtherFileError: the file has another size.
        FileNotFoundError, pyarrow.ArrowException: the file does not exist, or is not a Parquet file.
    """
    import pyarrow.parquet as pq

    groups, begins = list[int](), 0
    skip = row
    for group, records in enumerate(row_groups):
        if begins + records <= row:
            skip -= records
        elif begins < row + count:
            groups.append(group)
        begins += records
    if Path(path).stat().st_size != size:
        raise OtherFileError(other_size(size))
    with pq.ParquetFile(path, memory_map=True) as file:
        present = set(file.schema_arrow.names)
        columns = [name for name in columns if name in present]
        for batch in file.iter_batches(BATCH_RECORDS, row_groups=groups, columns=columns, use_threads=False):
            if skip >= batch.num_rows:
                skip -= batch.num_rows
                continue
            part = batch.slice(skip, min(count, batch.num_rows - skip))
            skip, count = 0, count - part.num_rows
            yield part
            if count == 0:
                return
