"""The readers of a topic and their committed positions, which retention must not overtake."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from blueprint.avro.tasks import task_contract
from blueprint.model.blueprint import task_topic
from blueprint.plan import InletPlan
from streamlets.channels.base import Position, Reader, TopicLostError, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, checkpoints_in


def readers_of(topic: TopicResource, checkpoints: Sequence[Checkpoint], inlets: Iterable[InletPlan]) -> list[Reader]:
    """Return the readers of a topic.

    Arguments:
        checkpoints: all checkpoints of the application, including removed streamlets' until they are reset.
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
        if topic.plan.id == task_topic(checkpoint.streamlet):
            started.add(checkpoint.streamlet)
            readers += _task_reader(topic, checkpoint)
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
        if inlet.settings.starting == "earliest" and inlet.streamlet not in started
    ]
    source = topic.plan.id.removeprefix(task_topic(""))
    if topic.plan.id == task_topic(source) and source not in started and _has_tasks(topic):
        readers.append(Reader(f"{source}.tasks", None))  # a batch source that has read nothing yet
    return readers


def _task_reader(topic: TopicResource, checkpoint: Checkpoint) -> Iterator[Reader]:
    """Yield the batch source that reads its tasks: its offset has the number of a task and a position in the topic."""
    for source, offset in (checkpoint.latest.positions if checkpoint.latest else {}).items():
        if not _is_task_offset(offset):
            continue
        done = checkpoint.committed.positions.get(source) if checkpoint.committed else None
        position = json.loads(done)["position"] if done is not None else None
        committed = Position(position) if position is not None and topic.owns(Position(position)) else None
        since = checkpoint.planned.time if checkpoint.planned else None
        yield Reader(f"{checkpoint.name} ({source})", committed, since)


def _is_task_offset(offset: str) -> bool:
    try:
        return set(json.loads(offset)) == {"task", "position"}
    except (ValueError, TypeError):
        return False


def _has_tasks(topic: TopicResource) -> bool:
    """Return whether a topic with such a name is really one of tasks, by the contract of its records."""
    try:
        return any(contract.fingerprint == task_contract().fingerprint for contract in topic.contracts())
    except TopicLostError:
        return False


def readers_below(topic: TopicResource, root: Path, inlets: Iterable[InletPlan]) -> list[Reader]:
    """Return the readers of a topic, from the current checkpoints below a directory."""
    return readers_of(topic, checkpoints_in(root), inlets)
