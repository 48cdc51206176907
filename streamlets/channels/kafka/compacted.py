"""`CompactedTable`: the last or the first value of each key in a compacted topic, as this process knows it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.cluster_client import Cluster
from streamlets.channels.kafka.cluster_errors import ClusterError

_LONGEST_TRANSACTION = 120.0
"""Seconds for which an entry may be invisible: the cluster ends the transaction of a killed writer after a minute."""

_POLL = 0.05
"""Seconds between two reads while waiting for an entry."""

_CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 * 2**20),  # only finished segments are compacted, and readers read what is not
    "min.cleanable.dirty.ratio": "0.1",
    "retention.ms": "-1",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """The value of a key.

    Arguments:
        offset: its offset, which compaction keeps.
        value: the value.
    """

    offset: int
    value: bytes


class CompactedTable:
    """The value of each key in a topic with one partition, which is created if it does not exist.

    Arguments:
        cluster: the cluster.
        topic: the name of the topic.
        first: whether a key keeps its first value until it is removed; otherwise it has the last one. Compaction
            keeps the last one, so a writer whose value is not the first one stores that one again.
        start: the offset from which the topic is read; earlier values are not known.
    """

    def __init__(self, cluster: Cluster, topic: str, *, first: bool = False, start: int = 0) -> None:
        self._cluster = cluster
        self._first = first
        self.topic = topic
        self._entries: dict[str, Entry] = {}
        self._next = start
        self._lock = threading.Lock()

    def create(self) -> None:
        """Create the topic if it does not exist.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self._cluster.create(self.topic, 1, -1, _CONFIG)

    def put(self, key: str, value: bytes) -> None:
        """Store a value.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self._cluster.send(self.topic, [(key.encode(), value)])

    def remove(self, key: str) -> None:
        """Remove a key.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self._cluster.send(self.topic, [(key.encode(), None)])

    def refreshed(self) -> dict[str, bytes]:
        """Return the values by key as they are now; nothing if the topic does not exist.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        return {key: entry.value for key, entry in self.entries().items()}

    @property
    def end(self) -> int:
        """The offset up to which the topic was read."""
        return self._next

    def settled(self) -> dict[str, bytes]:
        """Return the values by key, among them all that were committed before the call.

        Readers do not see what follows an open transaction of another writer, which may be one that was killed. So a
        writer that decides by its last value waits until all transactions of that time have ended.

        Raises:
            ClusterError: a transaction is open for too long; the cluster does not answer, or does not allow it.
        """
        with suppress(TopicLostError):
            if not self._cluster.await_committed(self.topic, self._cluster.stored(self.topic), _LONGEST_TRANSACTION):
                raise self._open_transaction()
        return self.refreshed()

    def entries_with(self, key: str) -> dict[str, Entry]:
        """Return the entries by key, as soon as a stored one is visible: readers do not see what follows an open
        transaction of another writer.

        Raises:
            ClusterError: it is not visible in time; the cluster does not answer, or does not allow it.
        """
        end = time.monotonic() + _LONGEST_TRANSACTION
        while key not in (entries := self.entries()):
            if time.monotonic() > end:
                raise self._open_transaction()
            time.sleep(_POLL)
        return entries

    def _open_transaction(self) -> ClusterError:
        return ClusterError(
            f"the topic `{self.topic}` has an open transaction for {_LONGEST_TRANSACTION:g} seconds",
            "run again when it has ended",
        )

    def entries(self) -> dict[str, Entry]:
        """Return the entries by key as they are now; nothing if the topic does not exist.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        with self._lock:
            try:
                end = self._cluster.latest(self.topic)[0]
            except TopicLostError:
                return {}
            if end < self._next:  # the topic was created again
                self._entries, self._next = {}, 0
            if end > self._next:
                for message in self._cluster.messages(self.topic, {0: (self._next, end)}):
                    key, value = (message.key() or b"").decode(errors="replace"), message.value()
                    if value is None:
                        self._entries.pop(key, None)
                    elif not (self._first and key in self._entries):
                        self._entries[key] = Entry(message.offset(), value)
                self._next = end
            return dict(self._entries)
