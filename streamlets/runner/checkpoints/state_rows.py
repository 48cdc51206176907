"""The rows that remain in state when a bounded run has ended, read from the checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.comparison.stateful_operators import JOIN, SESSION_WINDOWS, stateful_operator
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WINDOW = "struct<start:timestamp,end:timestamp>"
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Holder:
    """A query whose state is read.

    Arguments:
        output_mode: its output mode; aggregations and session windows hold rows back in `append` only.
        rows: the number of rows in state after the last batch; None without a batch in this run.
    """

    output_mode: str
    rows: int | None = None


def rows_in_state(
    session: SparkSession, units: Mapping[UnitId, Holder], checkpoints: Path, clock: Callable[[], float]
) -> Iterator[RowsInState]:
    """Yield an event for each operator with rows in state; operators whose state cannot be read are skipped."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    for unit, holder in units.items():
        if holder.rows == 0:
            continue
        checkpoint = checkpoints / unit.streamlet / unit.part
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
                            yield RowsInState(clock(), unit, f"join ({side} side)", rows, "may still find a match")
                else:
                    rows, note = _count(
                        _state(session, checkpoint, number), "value" if operator is SESSION_WINDOWS else "key"
                    )
                    if rows:
                        yield RowsInState(clock(), unit, operator.label, rows, note)
            except (PySparkException, Py4JError):
                continue


def _sides(session: SparkSession, checkpoint: Path, number: int, total: int | None) -> dict[str, int]:
    """Return the number of rows of both sides of a join.

    To count a side, Spark replays its changes, which may be hundreds of thousands for the larger side. With a known
    total, only the smaller side is counted.
    """
    if total is None:
        return {side: _count(_state(session, checkpoint, number, joinSide=side))[0] for side in _SIDES}
    smaller, larger = sorted(_SIDES, key=lambda side: _bytes(checkpoint / "state" / str(number), side))
    rows = _count(_state(session, checkpoint, number, joinSide=smaller))[0]
    return dict(sorted({smaller: rows, larger: total - rows}.items()))


def _bytes(operator: Path, side: str) -> int:
    return sum(file.stat().st_size for file in operator.glob(f"*/{side}-*/*"))


def operators(checkpoint: Path) -> list[tuple[int, str]]:
    """Return the number and name of each stateful operator of a query, from Spark's metadata files without a job."""
    names = {}
    for file in sorted((checkpoint / "state").glob("*/_metadata/**/*")):
        try:
            operator = json.loads(file.read_text(encoding="utf-8").partition("\n")[2])["operatorInfo"]
            names[int(operator["operatorId"])] = str(operator["operatorName"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a directory, a checksum
    return sorted(names.items())


def _state(session: SparkSession, checkpoint: Path, operator: int, **options: str) -> DataFrame:
    reader = session.read.format("statestore").option("operatorId", operator).options(**options)
    return reader.load(str(checkpoint))


def _count(state: DataFrame, windows: str = "key") -> tuple[int, str]:
    """Return the number of rows in a state, and its open windows as text.

    Arguments:
        windows: the struct with the window, if there is one: the key for an aggregation, the value for session windows.
    """
    from pyspark.sql import functions as F

    fields = state.select(f"{windows}.*").schema
    name = next((field.name for field in fields if field.dataType.simpleString() == _WINDOW), None)
    rows = F.count(F.lit(1)).alias("rows")
    if name is None:
        totals = state.agg(rows).first()
        return (totals["rows"] if totals else 0), ""
    window = f"{windows}.{name}"
    first, last = F.min(f"{window}.start").cast("string"), F.max(f"{window}.end").cast("string")
    totals = state.agg(rows, first.alias("first"), last.alias("last")).first()
    if totals is None:
        return 0, ""
    return totals["rows"], f"windows open from {totals['first']} to {totals['last']} UTC"
