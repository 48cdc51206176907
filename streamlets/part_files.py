"""Files that Spark writes for a batch: all that its tasks have committed, and no others.

The settings of a user may change the names, the places and the number of the files that Spark writes. What must not
change is fixed here, and no caller relies on the names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COMMITTER = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter"
_OPTIONS = {
    # The files of a task become visible when the job ends, and only if the task has committed: with version 2, an
    # abandoned task could add files later.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.output.basename": "part",  # another one could begin with `_`, which marks files that are not data
    "spark.sql.sources.outputCommitterClass": _COMMITTER,
    "spark.sql.parquet.output.committer.class": _COMMITTER,
}
_SETTINGS = {
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",  # the others are for readers of Spark 2
}
_TEMPORARY = "_temporary"


def write_part_files(
    rows: DataFrame,
    directory: Path,
    *,
    format: str = "parquet",
    options: Mapping[str, str] | None = None,
    partition_by: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Write rows with Spark, and return the files that its tasks have committed, sorted.

    Arguments:
        rows: the rows. Their session, which should be the session of their query, gets the settings of such files.
        directory: a directory on a local or mounted file system, which does not exist.
        format: the name of the format in Spark.
        options: the options of Spark's writer.
        partition_by: the partition columns, which become directories `column=value`.
    """
    for name, value in _SETTINGS.items():
        rows.sparkSession.conf.set(name, value)
    writer = rows.write.format(format).mode("append").options(**(options or {})).options(**_OPTIONS)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.save(f"file:{directory.absolute()}")
    files = (path for path in directory.rglob("*") if path.is_file())
    return tuple(sorted(path for path in files if _is_data(path.relative_to(directory))))


def _is_data(path: Path) -> bool:
    """Return whether a path leads to a file with records, not a checksum or a leftover of an attempt."""
    return path.parts[0] != _TEMPORARY and not path.name.startswith((".", "_"))
