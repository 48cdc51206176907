"""The number of records that a batch has read, and that remain, by the positions in its progress report.

Spark counts the rows of a source in each execution of the batch, and only the executed part: a function of
`foreachBatch` that uses its rows twice doubles the count, one that takes the first few rows counts only those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from blueprint.plan import InletPlan
from streamlets.channels.base import Position, TopicDamagedError, TopicLostError, TopicResource

# The query itself reports the error.
_UNKNOWN = (TopicLostError, TopicDamagedError, ValueError, KeyError, TypeError, OSError)


def rows_read(
    report: Mapping[str, Any], inlets: Iterable[InletPlan], topics: Mapping[str, TopicResource], executions: int = 1
) -> int:
    """Return the number of records that a batch has read.

    For topics it is computed from the positions, for other sources it is Spark's count.

    Arguments:
        report: the content of `StreamingQueryProgress.json`.
        inlets: the inlets of the query's streamlet.
        topics: the topics by id.
        executions: how often the batch was executed.
    """
    return sum(rows_by_inlet(report, inlets, topics, executions).values())


def rows_by_inlet(
    report: Mapping[str, Any], inlets: Iterable[InletPlan], topics: Mapping[str, TopicResource], executions: int = 1
) -> dict[str, int]:
    """Return the number of records that a batch has read by inlet; `""` is for other sources, see `rows_read`."""
    inlets, counts = tuple(inlets), dict[str, int]()
    for source in report.get("sources") or []:
        position = position_of(source.get("endOffset"))
        uncounted = tuple(inlet for inlet in inlets if inlet.name not in counts)
        inlet = inlet_of(position, uncounted, topics) or inlet_of(position, inlets, topics)
        name = inlet.name if inlet is not None else ""
        counts[name] = counts.get(name, 0) + _rows_of(report, source, inlet, topics, executions)
    return counts


def backlog(
    report: Mapping[str, Any], inlets: Iterable[InletPlan], topics: Mapping[str, TopicResource]
) -> dict[str, int]:
    """Return the number of records not yet read after a batch, by inlet; see `rows_read` for the arguments."""
    inlets = tuple(inlets)
    counts: dict[str, int] = {}
    for source in report.get("sources") or []:
        end = position_of(source.get("endOffset"))
        uncounted = tuple(inlet for inlet in inlets if inlet.name not in counts)
        inlet = inlet_of(end, uncounted, topics)
        if end is not None and inlet is not None:
            with suppress(*_UNKNOWN):
                counts[inlet.name] = topics[inlet.topic].lag(end, reader=f"{report.get('name')}.{inlet.name}").records
    return counts


def _rows_of(
    report: Mapping[str, Any],
    source: Mapping[str, Any],
    inlet: InletPlan | None,
    topics: Mapping[str, TopicResource],
    executions: int,
) -> int:
    start, end = position_of(source.get("startOffset")), position_of(source.get("endOffset"))
    if end is not None and inlet is not None and (start is not None or inlet.settings.starting == "earliest"):
        with suppress(*_UNKNOWN):
            return topics[inlet.topic].count(start, end, reader=f"{report.get('name')}.{inlet.name}")
    return int(source.get("numInputRows") or 0) // executions


def inlet_of(
    position: Position | None, inlets: tuple[InletPlan, ...], topics: Mapping[str, TopicResource]
) -> InletPlan | None:
    """Return the inlet that a source reads, from a position in it; None for a source of the author's own.

    Of several inlets of a topic it is the first.
    """
    return next(iter(inlets_of(position, inlets, topics)), None)


def inlets_of(
    position: Position | None, inlets: Iterable[InletPlan], topics: Mapping[str, TopicResource]
) -> list[InletPlan]:
    """Return the inlets of the topic that a source reads; several inlets of a streamlet may read one topic."""
    return [inlet for inlet in inlets if position is not None and topics[inlet.topic].owns(position)]


def position_of(offset: object) -> Position | None:
    """Return the position of an offset in a progress report; None without one."""
    return Position(json.dumps(offset)) if isinstance(offset, dict) else None
