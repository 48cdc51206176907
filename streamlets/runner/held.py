"""What stateful operators still hold back when a bounded run is over, read from the state in their checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.runner.events import UnitHeld, UnitId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WINDOW = "struct<start:timestamp,end:timestamp>"


def held_rows(
    session: SparkSession, units: Mapping[UnitId, str], checkpoints: Path, clock: Callable[[], float]
) -> Iterator[UnitHeld]:
    """One event for each operator whose state has rows; an operator whose state cannot be read is passed over.

    Arguments:
        units: the queries, each with its output mode: aggregations hold groups back in `append` only.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    for unit, output_mode in units.items():
        checkpoint = checkpoints / unit.streamlet / unit.query
        for number, name in operators(checkpoint):
            try:
                if name == "symmetricHashJoin":
                    for side in ("left", "right"):
                        rows, _ = _count(_state(session, checkpoint, number, joinSide=side))
                        if rows:
                            yield UnitHeld(clock(), unit, f"join ({side} side)", rows, "may still find a match")
                elif name == "stateStoreSave" and output_mode == "append":
                    rows, note = _count(_state(session, checkpoint, number))
                    if rows:
                        yield UnitHeld(clock(), unit, "aggregation", rows, note)
            except (PySparkException, Py4JError):
                continue


def operators(checkpoint: Path) -> list[tuple[int, str]]:
    """The stateful operators of a query, by number; read from Spark's own notes, for asking Spark takes a job."""
    found = {}
    for file in sorted((checkpoint / "state").glob("*/_metadata/**/*")):
        try:
            operator = json.loads(file.read_text(encoding="utf-8").partition("\n")[2])["operatorInfo"]
            found[int(operator["operatorId"])] = str(operator["operatorName"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a folder, a checksum
    return sorted(found.items())


def _state(session: SparkSession, checkpoint: Path, operator: int, **options: str) -> DataFrame:
    reader = session.read.format("statestore").option("operatorId", operator).options(**options)
    return reader.load(str(checkpoint))


def _count(state: DataFrame) -> tuple[int, str]:
    """How many rows, and which windows are open when the keys have one."""
    from pyspark.sql import functions as F

    keys = state.select("key.*").schema
    window = next((field.name for field in keys if field.dataType.simpleString() == _WINDOW), None)
    rows = F.count(F.lit(1)).alias("rows")
    if window is None:
        found = state.agg(rows).first()
        return (found["rows"] if found else 0), ""
    first, last = F.min(f"key.{window}.start").cast("string"), F.max(f"key.{window}.end").cast("string")
    found = state.agg(rows, first.alias("first"), last.alias("last")).first()
    if found is None:
        return 0, ""
    return found["rows"], f"windows open from {found['first']} to {found['last']} UTC"
