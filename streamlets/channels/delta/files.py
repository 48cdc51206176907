"""Writing Parquet files with Spark, configured for small batches."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from streamlets.channels.base import TopicWriteError
from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.parquet import data_file
from streamlets.part_files import write_part_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LAYOUT = "_layout_"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_EPOCH = datetime.datetime(1970, 1, 1)


def write_files(frame: DataFrame, table: Path, directory: Path, partition_by: Sequence[str]) -> tuple[DataFile, ...]:
    """Write a DataFrame to Parquet files in a new directory, and return the files that have records.

    Partition columns are also stored in the files, because the name of a directory does not distinguish null from an
    empty string.

    Arguments:
        frame: the rows to write.
        table: the directory of the table, which the paths of the files are relative to.
        directory: a directory below it, for these files only.
        partition_by: the columns that partition the files.

    Raises:
        TopicWriteError: the file system does not accept the files; those that were written are deleted.
    """
    from pyspark.sql import functions as F

    timestamps = tuple(frame.schema[name].dataType.typeName().startswith("timestamp") for name in partition_by)
    for number, (name, timestamp) in enumerate(zip(partition_by, timestamps, strict=True)):
        column = F.col(f"`{name}`")
        if timestamp:
            column = F.unix_micros(column.cast("timestamp"))
        frame = frame.withColumn(f"{_LAYOUT}{number}", column.cast("string"))
    columns = tuple(f"{_LAYOUT}{number}" for number in range(len(partition_by)))
    try:
        paths = write_part_files(frame, directory, partition_by=columns)
    except Exception as error:
        shutil.rmtree(directory, ignore_errors=True)
        reason = _file_system_error(error)
        if reason is None:
            raise
        raise TopicWriteError(
            f"cannot write to topic `{table.parent.name}`: {reason} ({table}); no data of this batch was published"
        ) from None
    files = []
    for path in paths:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # nothing reads the checksums
        layout = [part.partition("=")[2] for part in path.relative_to(directory).parts[:-1]]
        values = (_partition_value(text, timestamp) for text, timestamp in zip(layout, timestamps, strict=True))
        file = data_file(table, path, dict(zip(partition_by, values, strict=True)))
        if file.records:
            files.append(file)
        else:
            path.unlink()
    return tuple(files)


def _partition_value(text: str, timestamp: bool) -> str | None:
    if text == _NULL:
        return None
    if timestamp:
        return f"{_EPOCH + datetime.timedelta(microseconds=int(text)):%Y-%m-%d %H:%M:%S.%f}"
    return unquote(text)


_FILE_SYSTEM_ERRORS = (
    "No space left on device",
    "Disk quota exceeded",
    "Permission denied",
    "Read-only file system",
    "Input/output error",
)


def _file_system_error(error: BaseException) -> str | None:
    """Return the error message of the file system that an exception contains; None if it has another cause."""
    text = str(error)
    return next((phrase.lower() for phrase in _FILE_SYSTEM_ERRORS if phrase in text), None)
