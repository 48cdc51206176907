"""`Appender`: appends records to a topic without Spark."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pyarrow as pa


class Appender(abc.ABC):
    """Appends records to a topic without Spark, for one writer.

    The topic is opened and checked once, so that frequent appends are cheap. An appender is a context manager, and is
    used by one thread at a time.

    An append that fails can be repeated with the same sequence.
    """

    @property
    @abc.abstractmethod
    def last(self) -> int | None:
        """The sequence of the writer's last committed append, with any contract; None before the first one."""

    @property
    @abc.abstractmethod
    def marker(self) -> bytes | None:
        """The last marker that the writer has committed; None if there is none."""

    @abc.abstractmethod
    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        """Append records in one commit, which is durable when this returns.

        Arguments:
            rows: the records, with the Arrow schema of the contract; not iterated if the sequence was committed before.
            sequence: the number of the append, larger than the number of each earlier append of this writer, and the
                same when it is repeated.
            marker: replaces the writer's marker in the same commit, such as the place in a source from which to
                continue; None keeps it.

        Returns:
            Whether the records were appended; False if this sequence, or a later one, was committed before.

        Raises:
            WriterFencedError: the writer has been opened with a higher epoch.
            TopicLostError: the topic no longer exists.
            TopicWriteError: the records could not be stored.
        """

    def close(self) -> None:
        """Release the resources. Records that were appended are not affected."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
