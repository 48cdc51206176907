"""Rows tested with their contract while they are written: in one pass as long as none breaks it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.files import write_files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamlets.contract.conform import Conformance

REASON, ORIGINAL = "_streamlets_reason", "_streamlets_original"


@dataclass(frozen=True, slots=True)
class Place:
    """Where files go: a table's folder, a new folder below it, the columns that lay them out."""

    table: Path
    folder: Path
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """Rows that broke the contract: how many, and one of them with its reason."""

    count: int
    reason: str
    row: str


def tested(rows: DataFrame, fit: Conformance) -> DataFrame:
    """The rows as the contract wants them, with why each breaks it and how it came (both null for good ones)."""
    from pyspark.sql import functions as F

    assert fit.reason is not None
    original = F.when(fit.reason.isNotNull(), fit.original)
    return rows.select(*fit.columns, fit.reason.alias(REASON), original.alias(ORIGINAL))


def write_good(rows: DataFrame, place: Place) -> tuple[tuple[DataFile, ...], Broken | None]:
    """Write the good ones of tested rows and count the others on the way.

    When there are others, the files are not to be used with a second execution: it may draw other rows.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation(f"streamlets-{uuid.uuid4().hex}")
    example = F.max(F.when(F.col(REASON).isNotNull(), F.concat_ws("\n", REASON, ORIGINAL)))
    watched = rows.observe(seen, F.count(REASON).alias("broken"), example.alias("example"))
    files = _write(watched.where(F.col(REASON).isNull()), place)
    found = seen.get
    if not found or not found["broken"]:  # nothing at all is told of a plan that Spark found to be empty
        return files, None
    reason, _, row = str(found["example"]).partition("\n")
    return files, Broken(int(found["broken"]), reason, row)


def write_both(
    rows: DataFrame, place: Place, letters: Place, columns: list[Column]
) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
    """Write good rows to one place and, as `columns`, broken ones to another, all of one execution, which is kept."""
    from pyspark.sql import functions as F

    kept = rows.persist()
    try:
        good = _write(kept.where(F.col(REASON).isNull()), place)
        broken = kept.where(F.col(REASON).isNotNull()).select(*columns)
        return good, write_files(broken, letters.table, letters.folder, letters.partition_by)
    finally:
        kept.unpersist()


def _write(rows: DataFrame, place: Place) -> tuple[DataFile, ...]:
    return write_files(rows.drop(REASON, ORIGINAL), place.table, place.folder, place.partition_by)
