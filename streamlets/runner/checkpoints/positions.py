"""Where queries stand in their topics: each source of a checkpoint with its topic and what lies between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamlets.channels.base import Position, TopicLostError, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A source of a query.

    Arguments:
        source: its name in the checkpoint.
        topic: the name of the topic it reads; None for a source of the author's own, or of a topic that is gone.
        position: where the last committed batch ended, as JSON text; None when it has committed nothing.
        behind: records of the topic from there on; None when there is no topic.
    """

    source: str
    topic: str | None
    position: str | None
    behind: int | None


def source_positions(checkpoint: Checkpoint, topics: Iterable[TopicResource]) -> tuple[SourcePosition, ...]:
    """Where a query stands in each of its sources, in the checkpoint's order."""
    topics = tuple(topics)
    latest, committed = checkpoint.latest, checkpoint.committed
    return tuple(
        _standing(source, position, committed.positions.get(source) if committed else None, topics)
        for source, position in (latest.positions if latest else {}).items()
    )


def _standing(source: str, begun: str, committed: str | None, topics: Iterable[TopicResource]) -> SourcePosition:
    topic = next((topic for topic in topics if topic.owns(Position(begun))), None)
    if topic is None:
        return SourcePosition(source, None, committed, None)
    try:
        behind = topic.lag(Position(committed) if committed else None).records
    except TopicLostError:
        return SourcePosition(source, None, committed, None)
    return SourcePosition(source, topic.plan.name, committed, behind)
