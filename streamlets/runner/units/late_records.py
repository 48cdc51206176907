"""Late records that the deduplication of an inlet has dropped in a batch; a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from blueprint.plan import InletPlan
from streamlets.channels.base import TopicResource
from streamlets.runner.events.record_events import RecordsLate
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.record_counts import inlets_of, position_of


def records_late(
    report: Mapping[str, Any],
    unit: UnitId,
    time: float,
    inlets: Iterable[InletPlan],
    topics: Mapping[str, TopicResource],
    executions: int = 1,
) -> RecordsLate | None:
    """Return the event of the late records that deduplication has dropped at inlets; None if it has dropped none.

    Spark counts each late record, also the double of one that was read. It does not name inlets, so the inlet is known
    if only one deduplicates, and the author's logic does not use the same operator.

    Arguments:
        report: the content of `StreamingQueryProgress.json`.
        inlets: the inlets of the query's streamlet.
        topics: the topics by id.
        executions: how often the batch was executed.
    """
    inlets = tuple(inlets)
    ends = (position_of(source.get("endOffset")) for source in report.get("sources") or [])
    read = (inlet for end in ends for inlet in inlets_of(end, inlets, topics))
    dropping = [(inlet.name, name) for inlet in read if (name := topics[inlet.topic].late_operator(inlet))]
    names = {name for _, name in dropping}
    operators = [entry for entry in report.get("stateOperators") or [] if entry.get("operatorName") in names]
    records = sum(int(entry.get("numRowsDroppedByWatermark") or 0) for entry in operators) // executions
    if not records:
        return None
    candidates = {inlet for inlet, _ in dropping}
    known = len(candidates) == 1 and len(operators) <= len(dropping)
    return RecordsLate(
        time=time,
        unit=unit,
        batch=int(report["batchId"]),
        inlet=candidates.pop() if known else "",
        records=records,
        watermark=str((report.get("eventTime") or {}).get("watermark") or ""),
    )
