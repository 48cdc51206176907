"""Batches as Parquet files of Spark, which a query's driver writes elsewhere, and the keys of their records."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.catalog import SinkOption
from blueprint.wording import counted
from streamlets.egress.errors import KeysError
from streamlets.part_files import write_part_files
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pyspark.sql import Column, DataFrame


EXISTING = SinkOption(
    name="existing",
    description="whether to append to a table that this sink wrote with an earlier checkpoint",
    default="fail",
    choices=("fail", "append"),
)
KEYS = SinkOption(
    name="keys",
    description="the columns, separated by commas, whose values identify the row that a record replaces",
    columns=True,
    required_for=("update",),
    output_modes=("append", "update"),
)
SEQUENCE_BY = SinkOption(
    name="sequence-by",
    description="the column that orders the records of a row; a record with a smaller value is ignored",
    columns=True,
    needs="keys",
    output_modes=("append", "update"),
)


@contextmanager
def staged(rows: DataFrame, directory: Path) -> Iterator[ds.Dataset]:
    """Write the rows of a batch to a directory, provide them, and delete the directory.

    Arguments:
        rows: the rows.
        directory: a directory of the query on a file system that all of Spark's machines share. What an earlier attempt
            left in it is deleted. Its tasks may still run, so each attempt has a directory of its own.
    """
    import pyarrow.dataset as ds

    shutil.rmtree(directory, ignore_errors=True)
    files = write_part_files(rows, directory / uuid.uuid4().hex[:8])
    crash_point("after-data-files")
    yield ds.dataset(list(map(str, files)), format="parquet")
    shutil.rmtree(directory, ignore_errors=True)


def last_of_each_key(rows: DataFrame, keys: tuple[str, ...], sequence: str) -> DataFrame:
    """Return the rows with one row for each key: that with the largest value of a column.

    Arguments:
        rows: the rows of a batch.
        keys: the columns that identify a row.
        sequence: the column; "" returns all rows.
    """
    if not sequence:
        return rows
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    of_key = Window.partitionBy(*map(_column, keys)).orderBy(_column(sequence).desc_nulls_last())
    number = "_streamlets_number"
    return rows.withColumn(number, F.row_number().over(of_key)).where(f"{number} = 1").drop(number)


def unique(sink: str, records: ds.Dataset, keys: tuple[str, ...]) -> ds.Dataset:
    """Return the records of a batch, and only the first of equal ones.

    A topic that is written at least once may have a record twice.

    The keys of the batch are read into memory, and the batch as a whole if it has equal records.

    Raises:
        KeysError: different records have the same keys, so it is not known which of them is the last.
    """
    import pyarrow.dataset as ds

    values = records.to_table(columns=list(keys))
    if values.group_by(list(keys)).aggregate([]).num_rows == values.num_rows:
        return records
    table = records.to_table()
    first: dict[tuple[object, ...], int] = {}
    different = 0
    for number, key in enumerate(zip(*(table.column(name).to_pylist() for name in keys), strict=True)):
        earlier = first.setdefault(key, number)
        if earlier != number and str(table.slice(number, 1).to_pylist()) != str(table.slice(earlier, 1).to_pylist()):
            different += 1  # compared as text, in which NaN is equal to NaN
    if different:
        raise KeysError(
            f"{sink}: {counted(different, 'record of the batch has', 'records of the batch have')} the keys of another "
            "one, and other values; set "
            "`options.sequence-by` to the column that orders them"
        )
    return ds.dataset(table.take(sorted(first.values())))


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(f"`{name}`")
