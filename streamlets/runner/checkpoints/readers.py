"""Who reads a topic and how far they have committed, by checkpoints and plan: what retention must not overtake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from blueprint.plan import InletPlan
from streamlets.channels.base import Position, Reader, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, checkpoints_in


def readers_of(topic: TopicResource, checkpoints: Sequence[Checkpoint], inlets: Iterable[InletPlan]) -> list[Reader]:
    """The readers of a topic.

    Arguments:
        checkpoints: all of the application; also those of streamlets that it no longer has, until they are reset.
        inlets: which the plan joins to the topic. One that has no checkpoint yet and begins at the topic's beginning
            is a reader that has committed nothing.
    """
    found, begun = [], set()
    for checkpoint in checkpoints:
        latest = checkpoint.latest
        if latest is None:
            if checkpoint.damage:
                found.append(Reader(checkpoint.name, None))  # it may be one: nothing is dropped before it is mended
            continue
        for source, position in latest.positions.items():
            if topic.owns(Position(position)):
                done = checkpoint.committed.positions.get(source) if checkpoint.committed else None
                begun.add(checkpoint.streamlet)
                since = checkpoint.planned.time if checkpoint.planned else None
                found.append(Reader(f"{checkpoint.name} ({source})", Position(done) if done else None, since))
    found += [
        Reader(f"{inlet.streamlet}.{inlet.name}", None)
        for inlet in inlets
        if inlet.starting == "earliest" and inlet.streamlet not in begun
    ]
    return found


def readers_below(topic: TopicResource, root: Path, inlets: Iterable[InletPlan]) -> list[Reader]:
    """The readers of a topic by the checkpoints that now lie below a folder."""
    return readers_of(topic, checkpoints_in(root), inlets)
