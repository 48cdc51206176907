"""Spark's own Parquet writer, set up for small batches, and the files it leaves for the log to name."""

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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OPTIONS = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # nobody reads folders: no _SUCCESS file
    "mapreduce.fileoutputcommitter.algorithm.version": "2",  # one rename less a file; the log decides what counts
}
_LAYOUT = "_layout_"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_EPOCH = datetime.datetime(1970, 1, 1)


def write_files(frame: DataFrame, table: Path, folder: Path, partition_by: Sequence[str]) -> tuple[DataFile, ...]:
    """Execute a DataFrame into Parquet files in a folder of their own; files without records are left out.

    Columns that lay out the files stay in the files, too: folder names cannot tell null from an empty string.

    Arguments:
        table: the table's folder, which the files' paths are relative to.
        folder: below it; nothing else may be there.

    Raises:
        TopicWriteError: the file system refuses; what was written is removed.
    """
    from pyspark.sql import functions as F

    timestamps = tuple(frame.schema[name].dataType.typeName().startswith("timestamp") for name in partition_by)
    for number, (name, timestamp) in enumerate(zip(partition_by, timestamps, strict=True)):
        column = F.col(f"`{name}`")
        if timestamp:
            column = F.unix_micros(column.cast("timestamp"))
        frame = frame.withColumn(f"{_LAYOUT}{number}", column.cast("string"))
    writer = frame.write.mode("append").options(**_OPTIONS)
    if partition_by:
        writer = writer.partitionBy(*(f"{_LAYOUT}{number}" for number in range(len(partition_by))))
    try:
        writer.parquet(f"file:{folder}")
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        refusal = _refusal(error)
        if refusal is None:
            raise
        raise TopicWriteError(
            f"cannot write to topic `{table.parent.name}`: {refusal} ({table}); no data of this batch was published"
        ) from None
    found = []
    for path in sorted(folder.rglob("part-*.parquet")):
        layout = [part.partition("=")[2] for part in path.relative_to(folder).parts[:-1]]
        values = (_partition_value(text, timestamp) for text, timestamp in zip(layout, timestamps, strict=True))
        file = data_file(table, path, dict(zip(partition_by, values, strict=True)))
        if file.records:
            found.append(file)
        else:
            path.unlink()
    return tuple(found)


def _partition_value(text: str, timestamp: bool) -> str | None:
    if text == _NULL:
        return None
    if timestamp:
        return f"{_EPOCH + datetime.timedelta(microseconds=int(text)):%Y-%m-%d %H:%M:%S.%f}"
    return unquote(text)


_REFUSALS = (
    "No space left on device",
    "Disk quota exceeded",
    "Permission denied",
    "Read-only file system",
    "Input/output error",
)


def _refusal(error: BaseException) -> str | None:
    """What the file system said, in one phrase; None when the error is another one."""
    text = str(error)
    return next((phrase.lower() for phrase in _REFUSALS if phrase in text), None)
