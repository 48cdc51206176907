"""`TopicMessages`: the messages of a topic by ranges of offsets, read without Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from streamlets.channels.base import Position, TopicLostError
from streamlets.channels.kafka.clusters import ClusterTopic
from streamlets.channels.kafka.internal_names import is_writer
from streamlets.channels.kafka.offsets import Offsets, ranges

if TYPE_CHECKING:
    from confluent_kafka import Message

EXACT = 10_000
"""The maximum number of offsets that are read and counted."""

Parts: TypeAlias = Mapping[int, tuple[int, int]]
"""By partition, the first offset of a range and the one after its last."""


@dataclass(frozen=True, slots=True)
class TopicMessages:
    """The messages of a topic.

    Numbers of records are computed from offsets, which also count the marks of transactions and the records that
    compaction has removed. Up to 10,000 offsets are read and counted, unless the numbers are for a reader, which needs
    them after every batch, and the topic has no marks.

    Arguments:
        stored: the topic.
    """

    stored: ClusterTopic

    def earliest(self) -> Mapping[int, int]:
        """Return the first offset of each partition."""
        return self.stored.cluster.earliest(self.stored.name)

    def latest(self) -> Mapping[int, int]:
        """Return the offset after the last record of each partition."""
        return self.stored.cluster.latest(self.stored.name)

    def offsets(self, position: Position) -> Mapping[int, int]:
        """Return the offsets of a position.

        Raises:
            TopicLostError: it is not a position in the topic.
        """
        try:
            offsets = Offsets.from_position(position)
        except ValueError as error:
            raise TopicLostError(str(error)) from None
        if offsets.topic != self.stored.name:
            raise TopicLostError(f"the position is one in the topic `{offsets.topic}`, not in `{self.stored.name}`")
        return offsets.partitions

    def start(self, at: Position | None) -> Mapping[int, int]:
        """Return the offsets of a position; None stands for the beginning of the topic."""
        return self.offsets(at) if at is not None else self.earliest()

    def position(self, offsets: Mapping[int, int]) -> Position:
        """Return the position of offsets."""
        return Offsets(self.stored.name, offsets).to_position()

    def all(self) -> Parts:
        """Return the ranges of all messages."""
        return ranges(self.earliest(), self.latest())

    def read(self, parts: Parts) -> Iterator[Message]:
        """Yield the messages of ranges by time, without tombstones that are to be skipped."""
        messages = self.stored.cluster.messages(self.stored.name, parts)
        if self.stored.settings.tombstones == "skip":
            return (message for message in messages if message.value() is not None)
        return messages

    def newest(self, count: int) -> Iterable[Message]:
        """Return the last messages. Offsets without a message, such as marks of transactions, widen the search."""
        first, end = self.earliest(), self.latest()
        width = count + len(end)
        while True:
            start = {number: max(first[number], at - width) for number, at in end.items()}
            found = deque(self.read(ranges(start, end)), maxlen=count)
            if len(found) == count or start == first:
                return found
            width *= 4

    def count(self, parts: Parts, *, of_reader: bool = False) -> int:
        """Return the number of records in ranges.

        Arguments:
            parts: the ranges.
            of_reader: whether a reader counts them.
        """
        records = offsets_in(parts)
        if not 0 < records <= EXACT or (of_reader and not self.has_marks()):
            return records
        return sum(1 for _ in self.read(parts))

    def has_marks(self) -> bool:
        """Return whether the topic may have marks of transactions, because it was written without Spark."""
        return any(is_writer(key, self.stored.name) for key in self.stored.state.writers.refreshed())


def offsets_in(parts: Parts) -> int:
    """Return the number of offsets in ranges."""
    return sum(end - start for start, end in parts.values())
