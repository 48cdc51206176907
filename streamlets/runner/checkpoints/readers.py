"""The readers of a topic and their committed positions, which retention must not overtake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from blueprint.plan import InletPlan
from streamlets.channels.base import Position, Reader, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, checkpoints_in


def readers_of(topic: TopicResource, checkpoints: Sequence[Checkpoint], inlets: Iterable[InletPlan]) -> list[Reader]:
    """Return the readers of a topic.

    Arguments:
        checkpoints: all checkpoints of the application, including those of removed streamlets, until they are reset.
        inlets: the inlets that the plan joins to the topic. An inlet without a checkpoint that starts at the beginning
            of the topic is a reader that has committed nothing.
    """
    readers, started = [], set()
    for checkpoint in checkpoints:
        latest = checkpoint.latest
        if latest is None:
            if checkpoint.damage:
                readers.append(Reader(checkpoint.name, None))  # it may be a reader: keep all records until the repair
            continue
        for source, position in latest.positions.items():
            if topic.owns(Position(position)):
                done = checkpoint.committed.positions.get(source) if checkpoint.committed else None
                started.add(checkpoint.streamlet)
                since = checkpoint.planned.time if checkpoint.planned else None
                readers.append(Reader(f"{checkpoint.name} ({source})", Position(done) if done else None, since))
    readers += [
        Reader(f"{inlet.streamlet}.{inlet.name}", None)
        for inlet in inlets
        if inlet.starting == "earliest" and inlet.streamlet not in started
    ]
    return readers


def readers_below(topic: TopicResource, root: Path, inlets: Iterable[InletPlan]) -> list[Reader]:
    """Return the readers of a topic, from the current checkpoints below a directory."""
    return readers_of(topic, checkpoints_in(root), inlets)
