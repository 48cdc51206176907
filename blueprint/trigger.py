"""`Trigger`: when a streaming query processes new data."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.quantities import Duration


@dataclass(frozen=True, slots=True)
class ProcessingTime:
    """A micro-batch every `interval`; 0 means as fast as possible."""

    interval: Duration


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """All available data, in as many batches as the limits require, then the end."""


@dataclass(frozen=True, slots=True)
class RealTime:
    """Record by record, with a checkpoint every `interval`, for channels that support it."""

    interval: Duration


Trigger = ProcessingTime | AvailableNow | RealTime

SHORTEST_REAL_TIME = Duration(5 * 10**9)
"""The shortest interval of a real-time trigger that Spark accepts, unless `SHORTEST_REAL_TIME_SETTING` is set."""

SHORTEST_REAL_TIME_SETTING = "spark.sql.streaming.realTimeMode.minBatchDuration"
