"""`Losses`: records of a topic that were deleted before a reader had read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from streamlets.channels.base import Missed, Position, Reader, TopicLostError
from streamlets.channels.kafka.offsets import ranges
from streamlets.channels.kafka.topic.messages import Parts, TopicMessages, offsets_in


class Losses:
    """The losses of the readers of a topic.

    Arguments:
        messages: the messages of the topic.
        clock: returns the time in seconds since the epoch.
    """

    def __init__(self, messages: TopicMessages, clock: Callable[[], float]) -> None:
        self._messages = messages
        self._clock = clock
        self._noted: dict[str, Missed] = {}
        self._reported: dict[tuple[str, int], int] = {}  # the end of the last loss, by reader and partition

    def committed(self, reader: Reader) -> Mapping[int, int]:
        """Return the offsets that a reader has committed."""
        return self._messages.offsets(reader.committed) if reader.committed is not None else {}

    def of(self, reader: Reader) -> tuple[Missed, ...]:
        """Return the losses of a reader that continues from its committed position.

        Raises:
            TopicLostError: the topic ends before the position.
        """
        latest = self._messages.latest()
        for number, at in sorted(self.committed(reader).items()):
            if at > latest.get(number, 0):
                raise TopicLostError(
                    f"partition {number} of the topic `{self._messages.stored.name}` ends at offset "
                    f"{latest.get(number, 0)}, but {reader.name} has read it up to offset {at}: the cluster has lost "
                    "records"
                )
        return tuple(self._overtaken(reader, self._messages.earliest()))

    def skipped(self, reader: Reader, until: Position, records: int) -> tuple[Missed, ...]:
        """Return the records that a successful batch skipped; see `TopicResource.skipped` for the arguments.

        The offsets are those that no longer exist; the batch may have read some of them before they were deleted. What
        was reported before is omitted: several batches may pass over the offsets of one loss.
        Marks of transactions count as unread, so a loss may be reported where only read records were deleted.
        """
        parts = ranges(self.committed(reader), self._messages.offsets(until))
        offsets = offsets_in(parts)
        executions = max(1, math.ceil(records / offsets)) if offsets else 1
        unread = offsets - records // executions
        if unread <= 0:
            return ()
        earliest = self._messages.earliest()
        reported = {n: self._reported.get((reader.name, n), 0) for n in parts}
        deleted = {n: (max(at, reported[n]), min(end, earliest.get(n, 0))) for n, (at, end) in parts.items()}
        return tuple(
            self._missed(reader, number, start, end, "retention", records=min(unread, end - start))
            for number, (start, end) in sorted(deleted.items())
            if start < end
        )

    def purged(self, reader: Reader, unread: Parts) -> list[Missed]:
        """Return the losses of a reader if records are deleted that it has not read."""
        return [self._missed(reader, number, *part, "flow topics purge") for number, part in sorted(unread.items())]

    def watch(self, readers: Iterable[Reader]) -> None:
        """Note the readers that the retention of the cluster has overtaken."""
        earliest = self._messages.earliest()
        for reader in readers:
            for missed in self._overtaken(reader, earliest):
                self._noted.setdefault(_key(missed), missed)

    def note(self, missed: Iterable[Missed]) -> None:
        """Note losses, which replace earlier ones at the same offset."""
        self._noted |= {_key(entry): entry for entry in missed}

    def taken(self) -> Iterator[Missed]:
        """Yield the noted losses. One is removed when the caller asks for the next one."""
        for key in list(self._noted):
            yield self._noted[key]
            del self._noted[key]

    def _overtaken(self, reader: Reader, earliest: Mapping[int, int]) -> Iterator[Missed]:
        """Yield the records that were deleted before a reader has committed them, by partition."""
        for number, at in sorted(self.committed(reader).items()):
            if at < earliest.get(number, 0):
                yield self._missed(reader, number, at, earliest[number], "retention")

    def _missed(
        self, reader: Reader, partition: int, start: int, end: int, cause: str, records: int | None = None
    ) -> Missed:
        if records is None:
            try:
                records = self._messages.count({partition: (start, end)})
            except TopicLostError:  # the cluster has deleted them
                records = end - start
        self._reported[reader.name, partition] = end
        return Missed(
            topic=self._messages.stored.name,
            reader=reader.name,
            first=f"partition {partition}, offset {start}",
            last=f"partition {partition}, offset {end - 1}",
            records=records,
            time=self._clock(),
            cause=cause,
        )


def _key(missed: Missed) -> str:
    return f"{missed.reader} {missed.first}"
