"""The positions of queries in their topics: the topic, position and backlog of each source of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamlets.channels.base import Position, TopicLostError, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """The position of a query in one of its sources.

    Arguments:
        source: the name of the source in the checkpoint.
        topic: the name of the topic that it reads; None for a source of the author's own, or a topic that was deleted.
        position: the end of the last committed batch, as JSON text; None when no batch was committed.
        shown: the position for people; None when no batch was committed.
        backlog: the number of records of the topic after the position; None without a topic.
    """

    source: str
    topic: str | None
    position: str | None
    shown: str | None
    backlog: int | None


def source_positions(checkpoint: Checkpoint, topics: Iterable[TopicResource]) -> tuple[SourcePosition, ...]:
    """Return the position of a query in each of its sources, in the order of the checkpoint."""
    topics = tuple(topics)
    latest, committed = checkpoint.latest, checkpoint.committed
    return tuple(
        _source_position(source, position, committed.positions.get(source) if committed else None, topics)
        for source, position in (latest.positions if latest else {}).items()
    )


def _source_position(source: str, begun: str, committed: str | None, topics: Iterable[TopicResource]) -> SourcePosition:
    topic = next((topic for topic in topics if topic.owns(Position(begun))), None)
    unknown = SourcePosition(source, None, committed, committed, None)
    if topic is None:
        return unknown
    position = Position(committed) if committed else None
    try:
        backlog = topic.lag(position).records
    except TopicLostError:
        return unknown
    return SourcePosition(source, topic.plan.name, committed, topic.shown(position) if position else None, backlog)
