"""From Spark's progress report of a batch to the event. Pure: works on the report's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamlets.runner.events.model import UnitId, UnitProgressed

# Other operators remember keys they have seen, or keep what their author says, but hold no rows back.
_AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
_JOIN = "symmetricHashJoin"


def progressed(
    report: Mapping[str, Any],
    unit: UnitId,
    time: float,
    *,
    output_mode: str,
    rows_out: Mapping[str, int],
    dead_letters: int = 0,
    backlog: Mapping[str, int] | None = None,
) -> UnitProgressed:
    """The event of a finished batch.

    Arguments:
        report: what `StreamingQueryProgress.json` has.
        output_mode: the query's; an aggregation holds its groups back only in `append`.
        rows_out: as the channel told; when it told nothing, what Spark's sink says, under the sink's name.
        backlog: records not yet read, by inlet.
    """
    operators = report.get("stateOperators") or []
    watermark = (report.get("eventTime") or {}).get("watermark")
    return UnitProgressed(
        time=time,
        unit=unit,
        batch=int(report["batchId"]),
        rows_in=sum(int(source.get("numInputRows") or 0) for source in report.get("sources") or []),
        rows_out=rows_out or _rows_of_sink(report),
        dead_letters=dead_letters,
        late=sum(int(operator.get("numRowsDroppedByWatermark") or 0) for operator in operators),
        backlog=backlog or {},
        held=sum(int(operator.get("numRowsTotal") or 0) for operator in operators if _holds(operator, output_mode)),
        state_rows=sum(int(operator.get("numRowsTotal") or 0) for operator in operators),
        seconds=float(report.get("batchDuration") or 0) / 1000,
        watermark=None if watermark is None or watermark.startswith("1970-01-01T00:00:00") else watermark,
    )


def _rows_of_sink(report: Mapping[str, Any]) -> dict[str, int]:
    rows = (report.get("sink") or {}).get("numOutputRows")
    return {} if rows is None or rows < 0 else {"sink": int(rows)}  # Spark says -1 when it does not know


def _holds(operator: Mapping[str, Any], output_mode: str) -> bool:
    name = operator.get("operatorName")
    return name == _JOIN or (name in _AGGREGATIONS and output_mode == "append")
