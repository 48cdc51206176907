"""What a batch has read and what it has left, by the positions in its progress report.

Spark counts the rows of a source as often as the batch is executed, and only as far as it is executed: a function of
`foreachBatch` that asks for its rows twice doubles them, one that asks for the first few counts no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from blueprint.plan import InletPlan
from streamlets.channels.base import Position, TopicLostError, TopicResource

_UNKNOWN = (TopicLostError, ValueError, KeyError, TypeError, OSError)  # the query itself will report it


def rows_read(
    report: Mapping[str, Any], inlets: Iterable[InletPlan], topics: Mapping[str, TopicResource], executions: int = 1
) -> int:
    """Records that a batch has read: of topics those between its positions, of other sources what Spark counted.

    Arguments:
        report: what `StreamingQueryProgress.json` has.
        inlets: of the query's streamlet; topics: by id.
        executions: how often the batch's rows were executed.
    """
    inlets = tuple(inlets)
    return sum(_rows_of(report, source, inlets, topics, executions) for source in report.get("sources") or [])


def backlog(
    report: Mapping[str, Any], inlets: Iterable[InletPlan], topics: Mapping[str, TopicResource]
) -> dict[str, int]:
    """Records not yet read after a batch, by inlet; the arguments are those of `rows_read`."""
    inlets = tuple(inlets)
    found: dict[str, int] = {}
    for source in report.get("sources") or []:
        end = _position(source.get("endOffset"))
        left = tuple(inlet for inlet in inlets if inlet.name not in found)
        inlet = _inlet(end, left, topics)
        if end is not None and inlet is not None:
            with suppress(*_UNKNOWN):
                found[inlet.name] = topics[inlet.topic].lag(end, reader=f"{report.get('name')}.{inlet.name}").records
    return found


def _rows_of(
    report: Mapping[str, Any],
    source: Mapping[str, Any],
    inlets: tuple[InletPlan, ...],
    topics: Mapping[str, TopicResource],
    executions: int,
) -> int:
    start, end = _position(source.get("startOffset")), _position(source.get("endOffset"))
    inlet = _inlet(end, inlets, topics)
    if end is not None and inlet is not None and (start is not None or inlet.starting == "earliest"):
        with suppress(*_UNKNOWN):
            return topics[inlet.topic].count(start, end, reader=f"{report.get('name')}.{inlet.name}")
    return int(source.get("numInputRows") or 0) // executions


def _inlet(
    position: Position | None, inlets: tuple[InletPlan, ...], topics: Mapping[str, TopicResource]
) -> InletPlan | None:
    """The inlet that a source reads; None for a source of the author's own."""
    if position is None:
        return None
    return next((inlet for inlet in inlets if topics[inlet.topic].owns(position)), None)


def _position(offset: object) -> Position | None:
    return Position(json.dumps(offset)) if isinstance(offset, dict) else None
