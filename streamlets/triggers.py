"""The three triggers, which determine when a query processes new data, and their form in Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from blueprint.plan import StreamletPlan
from blueprint.quantities import Duration, duration
from blueprint.trigger import AvailableNow, ProcessingTime, RealTime, Trigger

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def processing_time(interval: str | Duration) -> ProcessingTime:
    """Return a trigger that starts a batch every `interval`.

    A batch that takes longer delays the next one; with 0, batches follow each other without a pause.

    Arguments:
        interval: a duration, such as `5 seconds`.

    Raises:
        QuantityError: the string is not a duration.
    """
    return ProcessingTime(_duration(interval))


def available_now() -> AvailableNow:
    """Return a trigger that processes all available data, in one or more batches, and then ends the query."""
    return AvailableNow()


def real_time(interval: str | Duration) -> RealTime:
    """Return a trigger that processes record by record; only for channels with real-time support (Kafka).

    Arguments:
        interval: the time between two checkpoints, such as `5 minutes`.

    Raises:
        QuantityError: the string is not a duration.
    """
    return RealTime(_duration(interval))


def trigger_of(plan: StreamletPlan, query: str, in_code: Trigger | None) -> Trigger | None:
    """Return the trigger of a query: from the settings and the blueprint, or else from the author's code.

    Arguments:
        plan: the plan of the streamlet.
        query: the name of the query.
        in_code: the trigger in the author's code; None without one.
    """
    return plan.settings.queries.get(query) or plan.settings.trigger or in_code


def with_trigger(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    """Return Spark's writer with a trigger."""
    match trigger:
        case ProcessingTime(interval):
            return writer.trigger(processingTime=interval.sql)
        case AvailableNow():
            return writer.trigger(availableNow=True)
        case RealTime(interval):
            return cast("DataStreamWriter", writer.trigger(realTime=interval.sql))  # type: ignore[call-overload]


def _duration(interval: str | Duration) -> Duration:
    return interval if isinstance(interval, Duration) else duration(interval)
