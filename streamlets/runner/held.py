"""What stateful operators still hold back when a bounded run is over, read from the state in their checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.runner.events import UnitHeld, UnitId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
        if not (checkpoint / "state").is_dir():
            continue
        try:
            yield from _of_checkpoint(session, unit, str(checkpoint), output_mode, clock)
        except (PySparkException, Py4JError):
            continue


def _of_checkpoint(
    session: SparkSession, unit: UnitId, checkpoint: str, output_mode: str, clock: Callable[[], float]
) -> Iterator[UnitHeld]:
    operators = session.read.format("state-metadata").load(checkpoint).select("operatorId", "operatorName").distinct()
    for operator in sorted(operators.collect()):
        if operator["operatorName"] == "symmetricHashJoin":
            for side in ("left", "right"):
                rows = _state(session, checkpoint, operator["operatorId"], side).count()
                if rows:
                    yield UnitHeld(clock(), unit, f"join ({side} side)", rows, "may still find a match")
        elif operator["operatorName"] == "stateStoreSave" and output_mode == "append":
            groups = _state(session, checkpoint, operator["operatorId"], None)
            rows = groups.count()
            if rows:
                yield UnitHeld(clock(), unit, "aggregation", rows, _windows(groups))


def _state(session: SparkSession, checkpoint: str, operator: int, side: str | None) -> DataFrame:
    reader = session.read.format("statestore").option("operatorId", operator)
    return (reader.option("joinSide", side) if side else reader).load(checkpoint)


def _windows(groups: DataFrame) -> str:
    """Which windows are open, when the groups have one."""
    from pyspark.sql import functions as F

    fields = groups.select("key.*").schema
    window = next((field.name for field in fields if field.dataType.simpleString() == _WINDOW), None)
    if window is None:
        return "groups"
    bounds = groups.agg(F.min(f"key.{window}.start").alias("first"), F.max(f"key.{window}.end").alias("last")).first()
    return "" if bounds is None else f"windows open from {bounds['first']} to {bounds['last']} UTC"


_WINDOW = "struct<start:timestamp,end:timestamp>"
