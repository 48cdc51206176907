"""The ids of batches in traces. They are computed, so that every part of a run knows them, and none stores them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.events.event import Event, UnitEvent
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged


@dataclass(frozen=True, slots=True)
class SpanId:
    """A span.

    Arguments:
        trace: the id of its trace, 16 bytes in hexadecimal digits.
        span: its own id, 8 bytes in hexadecimal digits.
    """

    trace: str
    span: str


def batch_id(query: str, batch: int, part: object = "") -> SpanId:
    """Return the id of a batch, which is a trace of its own, or of a part of it.

    Arguments:
        query: Spark's id of the query in its checkpoint, which no other checkpoint has.
        batch: the number of the batch.
        part: the name of a phase, or when an attempt failed; "" for the batch as a whole.
    """
    return SpanId(_digest(16, query, batch), _digest(8, query, batch, part))


def _digest(size: int, *parts: object) -> str:
    return blake2b("\n".join(map(str, parts)).encode(), digest_size=size).hexdigest()


class LoggedIds:
    """Finds the spans that lines of the log are about.

    Arguments:
        checkpoints: the application's directory of checkpoints.
    """

    def __init__(self, checkpoints: Path) -> None:
        self._checkpoints = checkpoints

    def of(self, event: Event) -> dict[str, str]:
        """Return the ids of the batch that an event is about, or whose attempt failed with it; {} without one."""
        if isinstance(event, UnitEvent):
            batch = getattr(event, "batch", None)
            if isinstance(batch, int):
                query = query_checkpoint(self._checkpoints, event.unit).id
                return _fields(batch_id(query, batch)) if query else {}
            if isinstance(event, UnitChanged) and event.state in ("failed", "backing-off"):
                attempt = failed_attempt(query_checkpoint(self._checkpoints, event.unit), event.time)
                return _fields(attempt) if attempt is not None else {}
        return {}

    def of_failure(self, unit: UnitId) -> dict[str, str]:
        """Return the trace of the batch in which a unit has failed; {} if it has failed outside of a batch."""
        attempt = failed_attempt(query_checkpoint(self._checkpoints, unit), 0.0)
        return {"trace_id": attempt.trace} if attempt is not None else {}


def query_checkpoint(checkpoints: Path, unit: UnitId) -> Checkpoint:
    """Return the checkpoint of a query; it has no id if the unit is not a query."""
    return read_checkpoint(checkpoints / unit.streamlet / (unit.part or "."))


def failed_attempt(checkpoint: Checkpoint, time: float) -> SpanId | None:
    """Return the span of the attempt that has just failed; None if the failure was not in a batch.

    Arguments:
        checkpoint: of the query; its planned batch is the one that has failed.
        time: when it failed, in seconds since the epoch.
    """
    if not checkpoint.id or checkpoint.planned is None:
        return None
    return batch_id(checkpoint.id, checkpoint.planned.number, time)


def _fields(id: SpanId) -> dict[str, str]:
    return {"trace_id": id.trace, "span_id": id.span}
