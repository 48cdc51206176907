"""Files that Spark writes for a batch: all that its tasks have committed, and no others.

Each attempt of a batch needs a directory of its own. An executor that the driver regards as lost may still be alive,
and a task on it that was allowed to commit may do so at any time later: then in a directory that nobody reads. If the
job still runs, Spark has allowed another attempt of the task to commit, too. The late one replaces its files, by a
deletion and a rename: if the job ends between these, records are missing. So on a cluster the records in the files are
compared with what the tasks have reported to the driver, which accepts one report for each part of the rows. That also
finds executors that do not share the directory with the driver.

The settings of a user may change the names, the places and the number of the files that Spark writes. What must not
change is fixed here, and no caller relies on the names.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.masters import on_cluster

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


class MissingFilesError(Exception):
    """The files of a batch do not have the records that Spark's tasks have written."""


def write_part_files(
    rows: DataFrame,
    directory: Path,
    *,
    format: str = "parquet",
    options: Mapping[str, str] | None = None,
    partition_by: Sequence[str] = (),
    one_line_each: bool = False,
) -> tuple[Path, ...]:
    """Write rows with Spark, and return the files that its tasks have committed, sorted.

    Arguments:
        rows: the rows. Their session, which should be the session of their query, gets the settings of such files.
        directory: a directory on a local or mounted file system, which has never existed: of this attempt only.
        format: the name of the format in Spark.
        options: the options of Spark's writer.
        partition_by: the partition columns, which become directories `column=value`.
        one_line_each: whether the files have a line for each record, and are not compressed, so that they can be
            counted like the rows of Parquet.

    Raises:
        MissingFilesError: the directory has not the records that the tasks on a cluster have written.
    """
    written = None
    count = _rows if format == "parquet" else _lines if one_line_each else None
    if count is not None and on_cluster(rows.sparkSession):
        rows, written = counted_rows(rows)
    for name, value in _SETTINGS.items():
        rows.sparkSession.conf.set(name, value)
    writer = rows.write.format(format).mode("append").options(**(options or {})).options(**_OPTIONS)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.save(f"file:{directory.absolute()}")
    paths = (path for path in directory.rglob("*") if path.is_file())
    files = tuple(sorted(path for path in paths if _is_data(path.relative_to(directory))))
    if count is not None and written is not None:
        _require_all(written(), sum(map(count, files)), directory)
    return files


def counted_rows(rows: DataFrame) -> tuple[DataFrame, Callable[[], int | None]]:
    """Return rows that Spark counts when it executes them, and a function that returns their number.

    The function returns None if Spark has optimized away the plan.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation(f"streamlets-{uuid.uuid4().hex}")
    observed = rows.observe(observation, F.count(F.lit(1)).alias("records"))
    return observed, lambda: (observation.get or {}).get("records")


def _require_all(written: int | None, existing: int, directory: Path) -> None:
    """Require that the files of a directory have the records that the tasks have written; None requires nothing.

    Raises:
        MissingFilesError: the numbers differ.
    """
    if written is not None and existing != written:
        raise MissingFilesError(
            f"Spark's tasks have written {written:,} records, and {existing:,} are in `{directory}`: executors must "
            "share this directory with the driver, or one of them was lost while it wrote; no data of this batch was "
            "published"
        )


def _rows(file: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file).num_rows)


def _lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


def _is_data(path: Path) -> bool:
    """Return whether a path leads to a file with records, not a checksum or a leftover of an attempt."""
    return path.parts[0] != _TEMPORARY and not path.name.startswith((".", "_"))
