"""`Sample`: the work of a unit at one time, and its row in a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from streamlets.runner.events.status import UnitId


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The work of a unit at one time.

    Arguments:
        time: in seconds since the epoch.
        streamlet: the name of the streamlet.
        query: the name of the query; "" for a streamlet without queries, or whose queries are not known yet.
        rate_in: rows read per second since the sample before.
        rate_out: rows written per second since the sample before, of all outlets.
        backlog: records of its inlets that are not committed; None if unknown.
        busy: the share of the last minute in batches, from 0 to 1; None without batches.
        watermark_delay: how far the watermark is behind, in seconds; None without one.
        state_rows: rows in state after the last batch.
        batch_seconds: the duration of the last batch.
    """

    time: float
    streamlet: str
    query: str = ""
    rate_in: float = 0.0
    rate_out: float = 0.0
    backlog: float | None = None
    busy: float | None = None
    watermark_delay: float | None = None
    state_rows: float = 0
    batch_seconds: float = 0.0

    @property
    def unit(self) -> UnitId:
        """The unit."""
        return UnitId(self.streamlet, self.query)


_NUMBERS = tuple(field.name for field in fields(Sample)[3:])
"""The order of the numbers in a row. Later releases append theirs."""


def line_of(time: float, samples: Iterable[Sample]) -> str:
    """Return the samples of one time as a line of a file: numbers with four digits, which are enough for a curve."""
    rows = [
        [sample.streamlet, sample.query, *(_short(getattr(sample, name)) for name in _NUMBERS)] for sample in samples
    ]
    return json.dumps([round(time, 1), rows], separators=(",", ":")) + "\n"


def samples_of(line: str) -> tuple[Sample, ...]:
    """Return the samples in a line; () if the line is damaged."""
    try:
        time, rows = json.loads(line)
        return tuple(_sample(_number(time), row) for row in rows)
    except (ValueError, TypeError, RecursionError):
        return ()


def _sample(time: float, row: Sequence[object]) -> Sample:
    streamlet, query, *numbers = row
    if not isinstance(streamlet, str) or not isinstance(query, str):
        raise TypeError("the names of a unit are strings")
    values = {name: _number(number) for name, number in zip(_NUMBERS, numbers, strict=False) if number is not None}
    return Sample(time=time, streamlet=streamlet, query=query, **values)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a number")
    return value


def _short(value: float | None) -> float | None:
    if value is None:
        return None
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
