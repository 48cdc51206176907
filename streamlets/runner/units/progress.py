"""From Spark's progress report of a batch to the event. Pure: works on the report's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blueprint.comparison.stateful_operators import stateful_operator
from streamlets.runner.events.model import UnitId, UnitProgressed


def progressed(
    report: Mapping[str, Any],
    unit: UnitId,
    time: float,
    *,
    output_mode: str,
    rows_out: Mapping[str, int],
    rows_in: int | None = None,
    dead_letters: int = 0,
    backlog: Mapping[str, int] | None = None,
) -> UnitProgressed:
    """The event of a finished batch.

    Arguments:
        report: what `StreamingQueryProgress.json` has.
        output_mode: the query's; an aggregation holds its groups back only in `append`.
        rows_in: as counted by positions; None takes Spark's count.
        rows_out: as the channel told; when it told nothing, what Spark's sink says, under the sink's name.
        backlog: records not yet read, by inlet.
    """
    operators = report.get("stateOperators") or []
    watermark = (report.get("eventTime") or {}).get("watermark")
    return UnitProgressed(
        time=time,
        unit=unit,
        batch=int(report["batchId"]),
        rows_in=_rows_of_sources(report) if rows_in is None else rows_in,
        rows_out=rows_out or _rows_of_sink(report),
        dead_letters=dead_letters,
        late=sum(int(operator.get("numRowsDroppedByWatermark") or 0) for operator in operators),
        backlog=backlog or {},
        held=sum(int(operator.get("numRowsTotal") or 0) for operator in operators if _holds(operator, output_mode)),
        state_rows=sum(int(operator.get("numRowsTotal") or 0) for operator in operators),
        seconds=float(report.get("batchDuration") or 0) / 1000,
        watermark=None if watermark is None or watermark.startswith("1970-01-01T00:00:00") else watermark,
    )


def _rows_of_sources(report: Mapping[str, Any]) -> int:
    return sum(int(source.get("numInputRows") or 0) for source in report.get("sources") or [])


def _rows_of_sink(report: Mapping[str, Any]) -> dict[str, int]:
    rows = (report.get("sink") or {}).get("numOutputRows")
    return {} if rows is None or rows < 0 else {"sink": int(rows)}  # Spark says -1 when it does not know


def _holds(operator: Mapping[str, Any], output_mode: str) -> bool:
    return stateful_operator(str(operator.get("operatorName"))).holds_back(output_mode)
