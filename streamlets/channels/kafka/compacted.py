"""`CompactedTable`: the last value of each key in a compacted topic, as this process knows it."""

from __future__ import annotations

import threading

from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.cluster_client import Cluster

_CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 * 2**20),  # only finished segments are compacted, and readers read what is not
    "min.cleanable.dirty.ratio": "0.1",
    "retention.ms": "-1",
}


class CompactedTable:
    """The last value of each key in a topic with one partition, which is created if it does not exist.

    Arguments:
        cluster: the cluster.
        topic: the name of the topic.
    """

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self.topic = topic
        self._values: dict[str, bytes] = {}
        self._next = 0
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

    def refreshed(self) -> dict[str, bytes]:
        """Return the values by key as they are now; nothing if the topic does not exist.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        with self._lock:
            try:
                end = self._cluster.latest(self.topic)[0]
            except TopicLostError:
                return {}
            if end < self._next:  # the topic was created again
                self._values, self._next = {}, 0
            if end > self._next:
                for message in self._cluster.messages(self.topic, {0: (self._next, end)}):
                    key, value = (message.key() or b"").decode(errors="replace"), message.value()
                    if value is None:
                        self._values.pop(key, None)
                    else:
                        self._values[key] = value
                self._next = end
            return dict(self._values)
