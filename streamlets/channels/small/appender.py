"""`SmallAppender`: appends to a small topic, a commit each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from streamlets.channels.base import Appender
from streamlets.channels.small.commits import Content, WriterState
from streamlets.override import override
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract


class Published(Protocol):
    """What a small topic does for its writers; see `SmallTopic`."""

    def claim(self, writer: str, epoch: int) -> WriterState:
        """Return the state of a writer that is opened with an epoch."""

    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        """Add a commit, unless it was published before."""


class SmallAppender(Appender):
    """Appends records of a contract. The state of the writer is read before each append.

    Arguments:
        topic: the topic.
        contract: the contract of the records.
        writer: the id of the writer.
        epoch: its epoch.
    """

    def __init__(self, topic: Published, contract: Contract, writer: str, epoch: int) -> None:
        self._topic, self._contract, self._writer, self._epoch = topic, contract, writer, epoch
        self._state = topic.claim(writer, epoch)

    @property
    @override
    def last(self) -> int | None:
        return self._state.sequence if self._state.sequence >= 0 else None

    @property
    @override
    def marker(self) -> bytes | None:
        return self._state.marker

    @override
    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        self._state = self._topic.claim(self._writer, self._epoch)
        if sequence <= self._state.sequence:
            return False
        content = Content.of(rows, self._contract)
        following = WriterState(self._epoch, sequence, self._state.marker if marker is None else marker)
        crash_point("after-append-file")
        published = self._topic.publish(self._writer, following, content)
        crash_point("after-append-commit")
        self._state = following if published else self._topic.claim(self._writer, self._epoch)
        return published
