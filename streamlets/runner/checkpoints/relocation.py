"""Moving the readers of a topic to a copy of it: their checkpoints get its positions, and keep their state.

A position of one channel means nothing on another. But a reader that has committed all records of the topic is at the
end of the copy, too. So only such readers can be moved, and only before anything else is written to the copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from blueprint.comparison import describe_plan, read_descriptor, to_json
from blueprint.wording import counted
from streamlets.channels.base import Position, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, checkpoints_in
from streamlets.storage.files import write_atomically

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from streamlets.runner.state_directory.directory import StateDirectory


_NAMED = "v2"
"""The version of Spark's files of offsets in which sources have names; in others they have numbers."""


class RelocationError(Exception):
    """A reader cannot be moved.

    Arguments:
        message: why.
        help: what to do, in the imperative.
    """

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Relocation:
    """A source of a checkpoint that reads the original topic.

    Arguments:
        checkpoint: the checkpoint.
        source: the name of the source, or its number if sources have no names.
    """

    checkpoint: Checkpoint
    source: str

    @property
    def reader(self) -> str:
        """The name of the reader."""
        return f"{self.checkpoint.name} ({self.source})"


def relocations(state: StateDirectory, source: TopicResource) -> tuple[Relocation, ...]:
    """Return the sources of checkpoints that read a topic, each at its end.

    Arguments:
        state: the state directory of the application, which must not be running.
        source: the topic.

    Raises:
        RelocationError: a reader has not committed all records of the topic, or is in the middle of a batch.
    """
    return tuple(
        Relocation(_settled(checkpoint, name, source), name)
        for checkpoint in checkpoints_in(state.checkpoints)
        for name, position in (checkpoint.latest.positions if checkpoint.latest is not None else {}).items()
        if source.owns(Position(position))
    )


def _settled(checkpoint: Checkpoint, name: str, source: TopicResource) -> Checkpoint:
    help = "run the application on the original topics until it has processed everything: `flow run --available-now`"
    if checkpoint.damage:
        raise RelocationError(f"the checkpoint of {checkpoint.name} is damaged: {checkpoint.damage[0]}", help)
    if checkpoint.planned is not None or checkpoint.committed is None:
        raise RelocationError(f"{checkpoint.name} ended in the middle of a batch", help)
    unread = source.lag(Position(checkpoint.committed.positions[name])).records
    if unread:
        records = counted(unread, "record")
        raise RelocationError(f"{checkpoint.name} has not read {records} of `{source.plan.name}`", help)
    return checkpoint


def relocate(relocations: Iterable[Relocation], end: Position) -> None:
    """Set the position of sources in their checkpoints. A repeated call has the same effect.

    Arguments:
        relocations: the sources.
        end: the end of the copy.

    Raises:
        OSError: a checkpoint cannot be written.
    """
    for relocation in relocations:
        batch = relocation.checkpoint.committed
        assert batch is not None
        file = relocation.checkpoint.directory / "offsets" / str(batch.number)
        version, head, *lines = file.read_text(encoding="utf-8").splitlines()
        if version == _NAMED:
            name = f"{relocation.source}:"
            lines = [name + end.json if line.startswith(name) else line for line in lines]
        else:
            lines[int(relocation.source)] = end.json
        # Spark would compare the checksum of the earlier content.
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        write_atomically(file, "\n".join([version, head, *lines]), durable=True)


def store_moved(state: StateDirectory, plan: ApplicationPlan, id: str) -> None:
    """Store that a topic has moved, so that the next run continues there.

    Arguments:
        state: the state directory of the application.
        plan: the application with the topic at its new place.
        id: the id of the topic.

    Raises:
        OSError: the descriptor cannot be read or written.
    """
    text = state.descriptor_file.read_text(encoding="utf-8")
    descriptor = read_descriptor(text, str(state.descriptor_file)).descriptor
    if id in descriptor.topics:
        topics = {**descriptor.topics, id: describe_plan(plan).topics[id]}
        write_atomically(state.descriptor_file, to_json(replace(descriptor, topics=topics)), durable=True)
