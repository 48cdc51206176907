"""When a query looks for news: the three triggers, and how Spark is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from blueprint.plan import AvailableNow, ProcessingTime, RealTime, Trigger
from blueprint.quantities import Duration, duration

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def processing_time(interval: str | Duration) -> ProcessingTime:
    """A batch every `interval` (such as `5 seconds`), or as soon as the one before has ended; 0 for no pause.

    Raises:
        QuantityError: the text is no duration.
    """
    return ProcessingTime(_duration(interval))


def available_now() -> AvailableNow:
    """Everything there is now, in as many batches as limits ask for, then the end."""
    return AvailableNow()


def real_time(interval: str | Duration) -> RealTime:
    """Record by record, with a checkpoint every `interval`; only on channels that can (Kafka).

    Raises:
        QuantityError: the text is no duration.
    """
    return RealTime(_duration(interval))


def with_trigger(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    """Tell Spark's writer."""
    match trigger:
        case ProcessingTime(interval):
            return writer.trigger(processingTime=interval.sql)
        case AvailableNow():
            return writer.trigger(availableNow=True)
        case RealTime(interval):
            return cast("DataStreamWriter", writer.trigger(realTime=interval.sql))  # type: ignore[call-overload]


def _duration(interval: str | Duration) -> Duration:
    return interval if isinstance(interval, Duration) else duration(interval)
