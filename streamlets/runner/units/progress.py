"""The event of a finished batch, from the JSON of Spark's progress report; a pure function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blueprint.comparison.stateful_operators import stateful_operator
from streamlets.runner.events.phases import seconds_by_phase
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed

_IN_STATE = ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
"""What Spark measures of the work in state, summed over all tasks."""


def progressed(
    report: Mapping[str, Any],
    unit: UnitId,
    time: float,
    *,
    output_mode: str,
    rows_out: Mapping[str, int],
    rows_in: Mapping[str, int] | None = None,
    dead_letters: int = 0,
    backlog: Mapping[str, int] | None = None,
    executions: int = 1,
    publishing: float = 0.0,
) -> UnitProgressed:
    """Return the event of a finished batch.

    Arguments:
        report: the content of `StreamingQueryProgress.json`.
        output_mode: the query's output mode; an aggregation has pending groups only in `append`.
        rows_in: the rows read by inlet, counted by positions; `""` is for other sources. None for Spark's count.
        rows_out: the rows written by outlet, as reported by the channel; if empty, the count of Spark's sink.
        backlog: records not yet read, by inlet.
        executions: how often Spark executed the batch, and so counted its late rows.
        publishing: the seconds in which the channel has published the rows.
    """
    operators = report.get("stateOperators") or []
    watermark = (report.get("eventTime") or {}).get("watermark")
    return UnitProgressed(
        time=time,
        unit=unit,
        batch=int(report["batchId"]),
        rows_in=_rows_of_sources(report) if rows_in is None else sum(rows_in.values()),
        inlets={inlet: rows for inlet, rows in (rows_in or {}).items() if inlet},
        rows_out=rows_out or _rows_of_sink(report),
        dead_letters=dead_letters,
        late=sum(int(operator.get("numRowsDroppedByWatermark") or 0) for operator in operators) // executions,
        backlog=backlog or {},
        pending_rows=sum(_rows(operator) for operator in operators if _holds(operator, output_mode)),
        state_rows=sum(map(_rows, operators)),
        state_bytes=sum(int(operator.get("memoryUsedBytes") or 0) for operator in operators),
        state_seconds=sum(float(operator.get(step) or 0) for operator in operators for step in _IN_STATE) / 1000,
        phases=seconds_by_phase(report, publishing),
        seconds=float(report.get("batchDuration") or 0) / 1000,
        watermark=None if watermark is None or watermark.startswith("1970-01-01T00:00:00") else watermark,
    )


def _rows_of_sources(report: Mapping[str, Any]) -> int:
    return sum(int(source.get("numInputRows") or 0) for source in report.get("sources") or [])


def _rows_of_sink(report: Mapping[str, Any]) -> dict[str, int]:
    sink = report.get("sink") or {}
    rows = int(sink.get("numOutputRows", -1))  # -1 means unknown
    # A function has 0 for a batch without rows, although the rows of later ones are not counted.
    uncounted = rows < 0 or str(sink.get("description")).startswith("ForeachBatchSink")
    return {} if uncounted else {"sink": rows}


def _rows(operator: Mapping[str, Any]) -> int:
    return int(operator.get("numRowsTotal") or 0)


def _holds(operator: Mapping[str, Any], output_mode: str) -> bool:
    return stateful_operator(str(operator.get("operatorName"))).holds_back(output_mode)
