"""Offsets: for each partition of a topic the number of the next record, in the form of Spark's Kafka source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamlets.channels.base import Position


@dataclass(frozen=True, slots=True)
class Offsets:
    """A position in a topic. A partition that it does not have is unread.

    Arguments:
        topic: the name of the topic.
        partitions: the offset of the next record by partition.
    """

    topic: str
    partitions: Mapping[int, int] = field(default_factory=dict)

    def to_position(self) -> Position:
        """Return the offsets as Spark stores them in a checkpoint: `{"topic":{"0":5,"1":7}}`."""
        return Position(json.dumps({self.topic: {str(number): at for number, at in sorted(self.partitions.items())}}))

    @classmethod
    def from_position(cls, position: Position) -> Offsets:
        """Return the offsets from what `to_position` or Spark's Kafka source returned.

        Raises:
            ValueError: the position is not one of a single Kafka topic.
        """
        content = json.loads(position.json)
        match content if isinstance(content, dict) else {}:
            case dict() as topics if len(topics) == 1:
                ((topic, partitions),) = topics.items()
                if isinstance(partitions, dict) and all(isinstance(at, int) for at in partitions.values()):
                    return cls(str(topic), {int(number): at for number, at in partitions.items()})
        raise ValueError(f"not a position in a Kafka topic: {position.json}")


def ranges(
    start: Mapping[int, int], end: Mapping[int, int], numbers: Sequence[int] | None = None
) -> dict[int, tuple[int, int]]:
    """Return the ranges of offsets between two positions that have records.

    Arguments:
        start: the first offset by partition; 0 where it is missing.
        end: the offset after the last by partition.
        numbers: the partitions; default: all of `end`.
    """
    chosen = sorted(end) if numbers is None else numbers
    return {number: (start.get(number, 0), end[number]) for number in chosen if start.get(number, 0) < end[number]}
