"""Checking rows against their contract while they are written, in one pass as long as none breaks it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.conformity import ORIGINAL, REASON
from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.files import write_files
from streamlets.shared_rows import shared_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Place:
    """Where files are written.

    Arguments:
        table: the directory of the table.
        directory: a new directory below it, for these files only.
        partition_by: the columns that partition the files.
    """

    table: Path
    directory: Path
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """Rows that break the contract.

    Arguments:
        count: the number of the rows.
        reason: why one of them breaks the contract.
        row: that row, as JSON.
    """

    count: int
    reason: str
    row: str


def write_valid(rows: DataFrame, place: Place) -> tuple[tuple[DataFile, ...], Broken | None]:
    """Write the valid rows of `with_reasons`, and count the others in the same execution.

    If there are others, do not use the files together with a second execution, which may produce different rows.

    Returns:
        The files, and the broken rows; None if there are none.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation(f"streamlets-{uuid.uuid4().hex}")
    example = F.max(F.when(F.col(REASON).isNotNull(), F.concat_ws("\n", REASON, ORIGINAL)))
    watched = rows.observe(observation, F.count(REASON).alias("broken"), example.alias("example"))
    files = _write(watched.where(F.col(REASON).isNull()), place)
    observed = observation.get
    if not observed or not observed["broken"]:  # Spark reports no values for a plan that it has optimized away
        return files, None
    reason, _, row = str(observed["example"]).partition("\n")
    return files, Broken(int(observed["broken"]), reason, row)


def write_both(
    rows: DataFrame, place: Place, letters: Place, columns: list[Column]
) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
    """Write valid rows to one place and broken rows to another, from one execution.

    Arguments:
        rows: the rows of `with_reasons`.
        place: where valid rows are written.
        letters: where broken rows are written.
        columns: the columns of a broken row.

    Returns:
        The files of the valid rows, and the files of the broken rows.
    """
    from pyspark.sql import functions as F

    with shared_rows(rows) as shared:
        valid = _write(shared.where(F.col(REASON).isNull()), place)
        broken = shared.where(F.col(REASON).isNotNull()).select(*columns)
        return valid, write_files(broken, letters.table, letters.directory, letters.partition_by)


def _write(rows: DataFrame, place: Place) -> tuple[DataFile, ...]:
    return write_files(rows.drop(REASON, ORIGINAL), place.table, place.directory, place.partition_by)
