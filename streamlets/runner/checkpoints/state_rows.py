"""What stateful operators still hold back when a bounded run is over, read from the state in their checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.comparison.stateful_operators import JOIN, SESSION_WINDOWS, stateful_operator
from streamlets.runner.events.model import UnitHeld, UnitId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WINDOW = "struct<start:timestamp,end:timestamp>"
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Holder:
    """What is known of a query whose state is asked for.

    Arguments:
        output_mode: aggregations and session windows hold rows back in `append` only.
        rows: how many rows its operators held after the last batch; None when there was no batch in this run.
    """

    output_mode: str
    rows: int | None = None


def held_rows(
    session: SparkSession, units: Mapping[UnitId, Holder], checkpoints: Path, clock: Callable[[], float]
) -> Iterator[UnitHeld]:
    """One event for each operator whose state has rows; an operator whose state cannot be read is passed over."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    for unit, holder in units.items():
        if holder.rows == 0:
            continue
        checkpoint = checkpoints / unit.streamlet / unit.query
        stateful = operators(checkpoint)
        for number, name in stateful:
            operator = stateful_operator(name)
            if not operator.holds_back(holder.output_mode):
                continue
            try:
                if operator is JOIN:
                    total = holder.rows if len(stateful) == 1 else None
                    for side, rows in _sides(session, checkpoint, number, total).items():
                        if rows:
                            yield UnitHeld(clock(), unit, f"join ({side} side)", rows, "may still find a match")
                else:
                    rows, note = _count(
                        _state(session, checkpoint, number), "value" if operator is SESSION_WINDOWS else "key"
                    )
                    if rows:
                        yield UnitHeld(clock(), unit, operator.label, rows, note)
            except (PySparkException, Py4JError):
                continue


def _sides(session: SparkSession, checkpoint: Path, number: int, total: int | None) -> dict[str, int]:
    """The rows of both sides of a join. To count a side Spark replays its changes, of which the larger side may have
    hundreds of thousands; where the total is known the smaller one is enough."""
    if total is None:
        return {side: _count(_state(session, checkpoint, number, joinSide=side))[0] for side in _SIDES}
    less, more = sorted(_SIDES, key=lambda side: _bytes(checkpoint / "state" / str(number), side))
    few = _count(_state(session, checkpoint, number, joinSide=less))[0]
    return dict(sorted({less: few, more: total - few}.items()))


def _bytes(operator: Path, side: str) -> int:
    return sum(file.stat().st_size for file in operator.glob(f"*/{side}-*/*"))


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


def _count(state: DataFrame, windows: str = "key") -> tuple[int, str]:
    """How many rows, and which windows are open.

    Arguments:
        windows: the struct of the state's rows that has the window, if there is one: the key of an aggregation, but the
            value of session windows.
    """
    from pyspark.sql import functions as F

    fields = state.select(f"{windows}.*").schema
    name = next((field.name for field in fields if field.dataType.simpleString() == _WINDOW), None)
    rows = F.count(F.lit(1)).alias("rows")
    if name is None:
        found = state.agg(rows).first()
        return (found["rows"] if found else 0), ""
    window = f"{windows}.{name}"
    first, last = F.min(f"{window}.start").cast("string"), F.max(f"{window}.end").cast("string")
    found = state.agg(rows, first.alias("first"), last.alias("last")).first()
    if found is None:
        return 0, ""
    return found["rows"], f"windows open from {found['first']} to {found['last']} UTC"
