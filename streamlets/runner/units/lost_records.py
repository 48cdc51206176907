"""Records that were deleted before a query has read them, found when it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from blueprint.plan import InletPlan, StreamletPlan
from streamlets.channels.base import Missed, Position, Reader, TopicLostError, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint
from streamlets.runner.events.record_events import RecordsMissed
from streamlets.runner.units.record_counts import inlet_of


def require_records(
    plan: StreamletPlan,
    checkpoint: Checkpoint,
    topics: Mapping[str, TopicResource],
    report: Callable[[RecordsMissed], None],
) -> None:
    """Report the records that a query has missed, and require that its topics allow it.

    Arguments:
        plan: the streamlet.
        checkpoint: the checkpoint of the query.
        topics: the topics by id.
        report: takes the missed records.

    Raises:
        TopicLostError: records were deleted, or a topic no longer exists.
    """
    inlets: tuple[InletPlan, ...] = plan.inlets
    for source, at in checkpoint.starts.items():
        position = Position(at)
        inlet = inlet_of(position, inlets, topics)
        if inlet is None:
            continue
        topic = topics[inlet.topic]
        missed = topic.lost(Reader(f"{checkpoint.name} ({source})", position))
        for entry in missed:
            report(RecordsMissed(**asdict(entry)))
        if missed and topic.fails_on_loss:
            raise TopicLostError(_message(missed))


def _message(missed: tuple[Missed, ...]) -> str:
    parts = "; ".join(f"from {entry.first} to {entry.last}" for entry in missed)
    first = missed[0]
    return (
        f"records of the topic `{first.topic}` were deleted before {first.reader} had read them: {parts}; to continue "
        "with the first record that exists, set `on-data-loss = continue` for the topic"
    )
